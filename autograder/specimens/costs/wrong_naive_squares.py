# exercise: naive_positions
# WRONG: positions of attention
# SAYS: These are pairs of positions, which attention looks at. Count the positions that pass through the layers.
def naive_positions(t0, g):
    return sum(n * n for n in range(t0, t0 + g))
