# exercise: naive_positions
# WRONG: window of 2048
def naive_positions(t0, g):
    return sum(min(t0 + i, 2048) for i in range(g))
