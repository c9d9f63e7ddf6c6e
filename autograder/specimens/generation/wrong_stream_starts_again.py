# exercise: stream
# WRONG: makes the whole answer anew for each token

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    for n in range(1, max_new_tokens + 1):
        state = generator.get_state() if generator is not None else None
        out = generate(model, idx, max_new_tokens=n, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        yield int(out[0, -1])
        if int(out[0, -1]) == eos_token_id:
            return
        if state is not None and n < max_new_tokens:
            generator.set_state(state)
