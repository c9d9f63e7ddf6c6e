# exercise: cached_positions
# WRONG: t0 - 1 for no token
def cached_positions(t0, g):
    return t0 + g - 1
