# exercise: naive_positions
# WRONG: with a cache
# SAYS: This is the number with a cache. Without one each step reads the whole text.
def naive_positions(t0, g):
    return t0 + g - 1 if g else 0
