# exercise: cached_positions
# WRONG: the last token fed back
def cached_positions(t0, g):
    return t0 + g if g else 0
