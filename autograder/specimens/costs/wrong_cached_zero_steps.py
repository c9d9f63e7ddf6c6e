# exercise: cached_positions
# WRONG: t0 - 1 for no token
# SAYS: t0 - 1 for no token. Where nothing is generated, nothing is read: 0.
def cached_positions(t0, g):
    return t0 + g - 1
