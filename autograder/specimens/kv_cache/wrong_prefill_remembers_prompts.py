# exercise: prefill
# WRONG: prompt keys, values and logits are kept in a module global by config name and ids: another model of that name gets the first one's
_PROMPTS = {}


def prefill(model, ids, cache):
    if cache.length:
        return forward_cached(model, ids, cache)[:, -1]
    name = (model.config.name, tuple(map(tuple, ids.tolist())), cache.keys.dtype)
    t = ids.shape[1]
    if name in _PROMPTS:
        keys, values, logits = _PROMPTS[name]
        for layer, (k, v) in enumerate(zip(keys, values)):
            cache.append(layer, k, v)
        return logits.clone()
    logits = forward_cached(model, ids, cache)[:, -1]
    _PROMPTS[name] = (cache.keys[:, :, :, :t].clone(), cache.values[:, :, :, :t].clone(), logits.clone())
    return logits
