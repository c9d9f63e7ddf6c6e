# exercise: cached_positions
# WRONG: new tokens only
def cached_positions(t0, g):
    return g
