# exercise: generate_cached
# RIGHT: a new cache for each window; the result is written into memory of its full length

def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    B, T = idx.shape
    result = torch.empty(B, T + max_new_tokens, dtype=torch.int64, device=idx.device)
    result[:, :T] = idx
    done = [False] * B
    cache, logits, length = None, None, T
    dtype = model.weights.norm.dtype
    while length < T + max_new_tokens:
        with torch.no_grad():
            if length > block_size or cache is None:
                cache = KVCache(model.config, B, block_size, dtype=dtype, device=idx.device)
                logits = prefill(model, result[:, max(0, length - block_size) : length], cache)
            else:
                logits = decode_step(model, result[:, length - 1 : length], cache)
            tokens = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        for row in range(B):
            token = eos_token_id if done[row] else int(tokens[row])
            result[row, length] = token
            done[row] = done[row] or (eos_token_id is not None and token == eos_token_id)
        length += 1
        if all(done):
            break
    return result[:, :length].clone()
