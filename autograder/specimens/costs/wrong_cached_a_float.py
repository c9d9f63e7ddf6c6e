# exercise: cached_positions
# WRONG: a float where a number of positions is a whole number
def cached_positions(t0, g):
    return t0 + g - 1.0 if g > 0 else 0
