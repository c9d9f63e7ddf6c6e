# exercise: prefill
# WRONG: the mean over all positions

def prefill(model, ids, cache):
    return forward_cached(model, ids, cache).mean(dim=1)
