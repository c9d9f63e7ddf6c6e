# exercise: generate_cached
# WRONG: keys and values of the last call are kept in a module global and used again where the new prompt begins with the same ids, which is looked up in row 0 only
_LAST = {"model": None, "ids": None, "cache": None}


def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    total = idx.shape[1] + max_new_tokens
    room = min(block_size, total)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    old, old_ids = _LAST["cache"], _LAST["ids"]
    known = 0
    if _LAST["model"] is model and old_ids.shape[0] == idx.shape[0] and total <= block_size:
        n = min(old_ids.shape[1], idx.shape[1] - 1)
        if n > 0 and torch.equal(old_ids[0, :n], idx[0, :n]):  # the conversation goes on
            known = n
            for layer in range(model.config.num_hidden_layers):
                cache.append(layer, old.keys[layer, :, :, :n], old.values[layer, :, :, :n])
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            if step == 0 and known:
                logits = prefill(model, idx[:, known:], cache)
            elif step == 0 or idx.shape[1] > block_size:
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
    if idx.shape[1] <= block_size:
        _LAST.update(model=model, ids=idx[:, : cache.length], cache=cache)
    return idx
