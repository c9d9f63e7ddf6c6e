# exercise: naive_positions
# WRONG: the new tokens only
# SAYS: The prompt is left out. Without a cache each step reads its t0 tokens again.
def naive_positions(t0, g):
    return g * (g - 1) // 2
