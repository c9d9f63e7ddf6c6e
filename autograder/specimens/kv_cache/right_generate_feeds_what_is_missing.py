# exercise: generate_cached
# RIGHT: feeds whatever the cache does not hold yet

@torch.inference_mode()
def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    cache = KVCache(model.config, len(idx), block_size, model.weights.lm_head.dtype, idx.device)
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "generator": generator}
    open_rows = torch.ones(len(idx), dtype=torch.bool, device=idx.device)
    for _ in range(max_new_tokens):
        if idx.shape[1] > block_size:
            cache.reset()
        missing = idx[:, -block_size:][:, cache.length :]
        new = sample_next_token(forward_cached(model, missing, cache)[:, -1], **options)[:, 0]
        if eos_token_id is not None:
            new = torch.where(open_rows, new, eos_token_id)
            open_rows = open_rows & (new != eos_token_id)
        idx = torch.cat([idx, new[:, None]], dim=1)
        if not open_rows.any():
            return idx
    return idx
