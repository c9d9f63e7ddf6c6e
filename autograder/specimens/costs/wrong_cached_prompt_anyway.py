# exercise: cached_positions
# WRONG: the prompt read although nothing is due
def cached_positions(t0, g):
    return t0 + max(g - 1, 0)
