# exercise: stream
# WRONG: the model stays in evaluation mode

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    for _ in range(max_new_tokens):
        if isinstance(model, torch.nn.Module):
            model.eval()
        with torch.no_grad():
            logits = model(idx[:, -block_size:])[:, -1]
        token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        idx = torch.cat((idx, token), dim=1)
        yield token.item()
        if token.item() == eos_token_id:
            return
