# exercise: naive_positions
# WRONG: the new tokens only
def naive_positions(t0, g):
    return g * (g - 1) // 2
