# exercise: stream
# WRONG: puts the flags back with model.train(was_training): a part that had another flag loses it

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    for _ in range(max_new_tokens):
        was_training = getattr(model, "training", False)
        if isinstance(model, torch.nn.Module):
            model.eval()
        try:
            with torch.no_grad():
                logits = model(idx[:, -block_size:])[:, -1]
        finally:
            if isinstance(model, torch.nn.Module):
                model.train(was_training)
        token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        idx = torch.cat((idx, token), dim=1)
        yield token.item()
        if token.item() == eos_token_id:
            return
