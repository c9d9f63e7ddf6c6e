# exercise: naive_positions
# WRONG: counted after each token was added
def naive_positions(t0, g):
    return sum(range(t0 + 1, t0 + g + 1))
