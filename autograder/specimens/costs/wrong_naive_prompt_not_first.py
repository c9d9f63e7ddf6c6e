# exercise: naive_positions
# WRONG: the first step reads one token
def naive_positions(t0, g):
    return sum(range(1, g + 1))
