# exercise: prefill
# WRONG: logits of the last position but one, where there is one

def prefill(model, ids, cache):
    return forward_cached(model, ids, cache)[:, -2 if ids.shape[1] > 1 else -1]
