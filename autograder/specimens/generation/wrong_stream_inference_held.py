# exercise: stream
# WRONG: inference_mode around the yield: it stays on in the caller's code while the stream waits

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    with torch.inference_mode():
        for _ in range(max_new_tokens):
            idx = generate(model, idx, max_new_tokens=1, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            token = int(idx[0, -1])
            yield token
            if token == eos_token_id:
                return
