# exercise: stream
# WRONG: when it ends or is dropped, it writes the flags of its beginning over what the caller has set since

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    parts = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    flags = [part.training for part in parts]
    try:
        for _ in range(max_new_tokens):
            idx = generate(model, idx, max_new_tokens=1, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            token = int(idx[0, -1])
            yield token
            if token == eos_token_id:
                return
    finally:
        for part, flag in zip(parts, flags):
            part.training = flag
