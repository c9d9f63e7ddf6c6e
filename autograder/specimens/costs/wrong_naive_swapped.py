# exercise: naive_positions
# WRONG: arguments exchanged
# SAYS: t0 and g are exchanged: t0 tokens are there at first, g are generated.
def naive_positions(t0, g):
    return sum(range(g, t0 + g))
