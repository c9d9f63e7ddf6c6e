# exercise: naive_positions
# WRONG: only what is new in each step
def naive_positions(t0, g):
    return t0 + g
