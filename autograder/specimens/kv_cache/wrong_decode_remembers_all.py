# exercise: decode_step
# WRONG: keeps the tokens and computes all of them again

def decode_step(model, ids, cache):
    logits = forward_cached(model, ids, cache)[:, -1]
    spare = KVCache(model.config, len(ids), cache.length, model.weights.embed_tokens.dtype)
    forward_cached(model, ids.expand(-1, cache.length), spare)
    return logits
