# exercise: naive_positions
# WRONG: the prompt in every step
def naive_positions(t0, g):
    return g * t0
