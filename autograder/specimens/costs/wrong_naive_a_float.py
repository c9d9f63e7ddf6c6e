# exercise: naive_positions
# WRONG: a division with /, which gives a float
def naive_positions(t0, g):
    return g * t0 + g * (g - 1) / 2
