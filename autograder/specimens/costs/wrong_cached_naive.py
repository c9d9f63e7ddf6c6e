# exercise: cached_positions
# WRONG: without a cache
def cached_positions(t0, g):
    return sum(range(t0, t0 + g))
