# exercise: naive_positions
# WRONG: without a prompt nothing is counted, although the new tokens are read
def naive_positions(t0, g):
    return g * t0 + g * (g - 1) // 2 if t0 else 0
