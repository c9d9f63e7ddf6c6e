# exercise: naive_positions
# WRONG: the triangle not halved
# SAYS: g (g - 1) is not halved: 0 + 1 + ... + (g - 1) is half of that.
def naive_positions(t0, g):
    return g * t0 + g * (g - 1)
