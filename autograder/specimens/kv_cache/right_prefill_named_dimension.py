# exercise: prefill
# RIGHT: select instead of an index

def prefill(model, ids, cache):
    logits = forward_cached(model, ids, cache)
    return logits.select(dim=1, index=ids.shape[1] - 1).clone()
