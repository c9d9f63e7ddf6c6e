# exercise: cached_positions
# WRONG: without a cache
# SAYS: This is the number without a cache. With one each token is read once.
def cached_positions(t0, g):
    return sum(range(t0, t0 + g))
