# exercise: cached_positions
# WRONG: the prompt forgotten
def cached_positions(t0, g):
    return max(g - 1, 0)
