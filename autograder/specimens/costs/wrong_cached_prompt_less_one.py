# exercise: cached_positions
# WRONG: the last token of the prompt left out
def cached_positions(t0, g):
    return t0 - 1 + g - 1 if g else 0
