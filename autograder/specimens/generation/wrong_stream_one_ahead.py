# exercise: stream
# WRONG: begins on the next token before it hands over this one

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    options = dict(block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
    waiting = None
    for _ in range(max_new_tokens):
        idx = generate(model, idx, max_new_tokens=1, **options)
        if waiting is not None:
            yield waiting
        waiting = int(idx[0, -1])
        if waiting == eos_token_id:
            break
    if waiting is not None:
        yield waiting
