# exercise: entropy
# WRONG: one less the sum of squares
def entropy(probs):
    return 1 - (probs * probs).sum(dim=-1)
