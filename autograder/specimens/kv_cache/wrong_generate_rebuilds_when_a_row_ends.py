# exercise: generate_cached
# WRONG: whenever a row has ended the cache is filled anew from the whole text: right tokens, but old ones pass through the model again
def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    newly_ended = False
    with torch.no_grad():
        for step in range(max_new_tokens):
            if step == 0 or newly_ended or idx.shape[1] > block_size:  # begin anew whenever the set of rows changes
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                before = int(ended.sum())
                ended = ended | (token == eos_token_id)
                newly_ended = int(ended.sum()) > before
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx
