# exercise: naive_positions
# WRONG: window of 2048
# SAYS: The text is cut at 2,048 tokens. The count has no such limit.
def naive_positions(t0, g):
    return sum(min(t0 + i, 2048) for i in range(g))
