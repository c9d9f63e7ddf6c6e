# exercise: stream
# WRONG: gives back a list of all tokens, made at once, where an iterator was due

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    out = generate(model, idx, max_new_tokens=max_new_tokens, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, eos_token_id=eos_token_id, generator=generator)
    return out[0, idx.shape[1]:].tolist()
