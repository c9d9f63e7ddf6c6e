# exercise: naive_positions
# WRONG: arguments exchanged
def naive_positions(t0, g):
    return sum(range(g, t0 + g))
