# exercise: cached_positions
# WRONG: 0.0 for no token, where a number of positions is a whole number
def cached_positions(t0, g):
    return t0 + g - 1 if g > 0 else 0.0
