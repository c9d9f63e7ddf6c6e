# exercise: naive_positions
# WRONG: counted after each token was added
# SAYS: Each step is counted with the token that it makes. A step reads what is there before.
def naive_positions(t0, g):
    return sum(range(t0 + 1, t0 + g + 1))
