# exercise: prefill
# WRONG: always float32
def prefill(model, ids, cache):
    return forward_cached(model, ids, cache)[:, -1].float()
