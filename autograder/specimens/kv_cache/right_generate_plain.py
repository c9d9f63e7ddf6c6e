# exercise: generate_cached
# RIGHT: step by step; most of the wrong versions are edits of it

def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            if step == 0 or idx.shape[1] > block_size:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx
