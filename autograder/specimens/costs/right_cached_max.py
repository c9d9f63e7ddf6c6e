# exercise: cached_positions
# RIGHT: never below nothing
def cached_positions(t0, g):
    return t0 + max(g, 1) - 1 if g else 0
