# exercise: prefill
# WRONG: feeds the last token only

def prefill(model, ids, cache):
    return forward_cached(model, ids[:, -1:], cache)[:, -1]
