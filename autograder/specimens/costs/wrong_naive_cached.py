# exercise: naive_positions
# WRONG: with a cache
def naive_positions(t0, g):
    return t0 + g - 1 if g else 0
