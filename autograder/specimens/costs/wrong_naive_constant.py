# exercise: naive_positions
# WRONG: the prompt in every step
# SAYS: The prompt is counted in every step. With a cache it is read once.
def naive_positions(t0, g):
    return g * t0
