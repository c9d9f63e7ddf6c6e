# exercise: naive_positions
# RIGHT: a sum over a range
def naive_positions(t0, g):
    return sum(range(t0, t0 + g))
