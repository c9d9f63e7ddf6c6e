# exercise: generate_cached
# RIGHT: inference mode, an output of full length filled in place, a new cache at each slide

def generate_cached(
    model: WeightsOnly,
    idx: Tensor,
    *,
    max_new_tokens: int,
    block_size: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """The tokens of `generate`, with each token passed through the model once: one prefill, then decode steps.

    model: an object with .config and .weights. idx (B, T) int64 -> (B, T+n), n <= max_new_tokens. Every rule of
    `generate` holds: a row that has emitted eos_token_id is filled with it, the loop ends as soon as every row has
    ended, no gradient is recorded and the caller's gradient mode is left as it was, idx is not changed. Past block_size
    tokens the window slides: what is left in it was computed while the token that falls out could be seen, so the cache is
    rebuilt from the window at each step.
    """
    B, T = idx.shape
    out = torch.cat((idx, idx.new_zeros(B, max_new_tokens)), dim=1)
    n, end = T, T + max_new_tokens
    done = [False] * B
    cache = None
    with torch.inference_mode():
        while n < end:
            window = out[:, max(0, n - block_size) : n]
            if cache is None or n > block_size:
                cache = KVCache(model.config, B, min(block_size, end), model.weights.embed_tokens.dtype, idx.device)
                logits = prefill(model, window, cache)
            else:
                logits = decode_step(model, out[:, n - 1 : n], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            for row in range(B):
                out[row, n] = eos_token_id if done[row] else token[row, 0]
                done[row] = done[row] or (eos_token_id is not None and int(out[row, n]) == eos_token_id)
            n += 1
            if all(done):
                break
    return out[:, :n].clone()
