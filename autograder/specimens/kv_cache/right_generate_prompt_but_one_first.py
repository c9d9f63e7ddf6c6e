# exercise: generate_cached
# RIGHT: prefills all but the last token; then every step is a decode step

@torch.no_grad()
def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    def window(ids):
        cache = KVCache(model.config, len(ids), ids.shape[1], model.weights.embed_tokens.dtype, ids.device)
        return prefill(model, ids, cache)

    T, ended = idx.shape[1], torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    cache = KVCache(model.config, len(idx), max(block_size, 1), model.weights.embed_tokens.dtype, idx.device)
    if max_new_tokens > 0 and 1 < T <= block_size:
        prefill(model, idx[:, :-1], cache)
    for _ in range(max_new_tokens):
        logits = decode_step(model, idx[:, -1:], cache) if idx.shape[1] <= block_size else window(idx[:, -block_size:])
        token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        if eos_token_id is not None:
            token[ended] = eos_token_id
            ended |= token == eos_token_id
        idx = torch.cat((idx, token), dim=1)
        if bool(ended.all()):
            break
    return idx
