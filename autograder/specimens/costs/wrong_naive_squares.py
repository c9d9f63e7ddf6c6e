# exercise: naive_positions
# WRONG: positions of attention
def naive_positions(t0, g):
    return sum(n * n for n in range(t0, t0 + g))
