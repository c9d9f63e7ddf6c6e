# exercise: prefill
# WRONG: runs the prompt twice, once for nothing

def prefill(model, ids, cache):
    forward_cached(model, ids, KVCache(model.config, len(ids), cache.length + ids.shape[1], model.weights.embed_tokens.dtype))
    return forward_cached(model, ids, cache)[:, -1]
