# exercise: prefill
# WRONG: one row for all

def prefill(model, ids, cache):
    return forward_cached(model, ids, cache)[:1, -1].expand(len(ids), -1)
