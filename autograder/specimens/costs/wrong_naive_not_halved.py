# exercise: naive_positions
# WRONG: the triangle not halved
def naive_positions(t0, g):
    return g * t0 + g * (g - 1)
