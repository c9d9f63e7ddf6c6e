# exercise: stream
# WRONG: the first token is made when the stream is, the rest when asked for

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    options = dict(block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)

    def rest(ids):
        for i in range(max_new_tokens):
            if i:
                ids = generate(model, ids, max_new_tokens=1, **options)
            yield int(ids[0, -1])
            if int(ids[0, -1]) == eos_token_id:
                return

    return rest(generate(model, idx, max_new_tokens=1, **options) if max_new_tokens else idx)
