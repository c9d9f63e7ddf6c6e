# exercise: decode_step
# WRONG: feeds the token twice

def decode_step(model, ids, cache):
    forward_cached(model, ids, cache)
    return forward_cached(model, ids, cache)[:, -1]
