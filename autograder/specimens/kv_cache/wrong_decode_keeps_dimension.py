# exercise: decode_step
# WRONG: (B, 1, V)

def decode_step(model, ids, cache):
    return forward_cached(model, ids, cache)
