# exercise: cached_positions
# WRONG: two too few
def cached_positions(t0, g):
    return t0 + max(g - 2, 0) if g else 0
