# exercise: cached_positions
# WRONG: the prompt only
def cached_positions(t0, g):
    return t0 if g else 0
