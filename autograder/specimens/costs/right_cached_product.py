# exercise: cached_positions
# RIGHT: a truth value as a factor
def cached_positions(t0, g):
    return (t0 + g - 1) * (g > 0)
