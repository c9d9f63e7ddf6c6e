# exercise: generate_cached
# WRONG: the step behind the last EOS is worked out before anybody looks whether all rows have ended; at max_new_tokens it is not
def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    if max_new_tokens == 0:
        return idx
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        logits = prefill(model, idx[:, -block_size:], cache)
        for left in reversed(range(max_new_tokens)):
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if left and idx.shape[1] <= block_size:
                logits = decode_step(model, token, cache)
            elif left:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            if eos_token_id is not None:
                ended |= token == eos_token_id
                if ended.all():
                    break
    return idx
