# exercise: prefill
# WRONG: fills a cache of its own

def prefill(model, ids, cache):
    cache = KVCache(model.config, len(ids), ids.shape[1] + cache.length, model.weights.embed_tokens.dtype)
    return forward_cached(model, ids, cache)[:, -1]
