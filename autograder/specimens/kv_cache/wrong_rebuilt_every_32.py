# exercise: generate_cached
# WRONG: the cache is filled anew at every 32nd step, though nothing slides

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
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            if step % 32 == 0 or idx.shape[1] > block_size:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if eos_token_id is not None and ended.all():  # without an EOS there is nothing to ask the device
                break
    return idx
