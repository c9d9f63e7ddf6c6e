# exercise: cached_positions
# WRONG: new tokens only
# SAYS: The new tokens alone are counted. Each step reads the whole text before it.
def cached_positions(t0, g):
    return g
