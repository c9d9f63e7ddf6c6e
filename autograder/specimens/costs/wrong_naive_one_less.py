# exercise: naive_positions
# WRONG: one step too few
def naive_positions(t0, g):
    return sum(range(t0, t0 + g - 1))
