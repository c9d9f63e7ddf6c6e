# exercise: naive_positions
# WRONG: only what is new in each step
# SAYS: Only what is new in each step is counted. Without a cache each step reads the whole text.
def naive_positions(t0, g):
    return t0 + g
