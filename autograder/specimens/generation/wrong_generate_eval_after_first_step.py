# exercise: generate
# WRONG: evaluation mode begins with the second step

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    parts = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    flags = [part.training for part in parts]
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    try:
        with torch.no_grad():
            for _ in range(max_new_tokens):
                logits = model(idx[:, -block_size:])[:, -1]
                for part in parts:
                    part.training = False
                token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
                if eos_token_id is not None:
                    token = token.masked_fill(ended, eos_token_id)
                    ended = ended | (token == eos_token_id)
                idx = torch.cat((idx, token), dim=1)
                if ended.all():
                    break
    finally:
        for part, flag in zip(parts, flags):
            part.training = flag
    return idx
