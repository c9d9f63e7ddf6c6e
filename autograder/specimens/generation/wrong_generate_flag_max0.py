# exercise: generate
# WRONG: with max_new_tokens = 0 it returns before it puts the flags back

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    parts = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    flags = [part.training for part in parts]
    for part in parts:
        part.training = False
    if max_new_tokens == 0:
        return idx.clone()
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    try:
        for part in parts:
            part.training = False
        with torch.no_grad():
            for _ in range(max_new_tokens):
                logits = model(idx[:, -block_size:])[:, -1]
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
