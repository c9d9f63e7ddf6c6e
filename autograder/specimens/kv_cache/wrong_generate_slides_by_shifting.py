# exercise: generate_cached
# WRONG: past block_size the oldest slot is shifted out and the rest is kept, positions and all

def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            if step == 0:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                if cache.length == room:
                    cache.keys = cache.keys.roll(-1, dims=3)
                    cache.values = cache.values.roll(-1, dims=3)
                    cache.counts = [room - 1] * len(cache.counts)
                logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx
