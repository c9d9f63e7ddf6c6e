# exercise: naive_positions
# WRONG: the final length in every step
def naive_positions(t0, g):
    return g * (t0 + g)
