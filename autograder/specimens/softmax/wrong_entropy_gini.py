# exercise: entropy
# WRONG: one less the sum of squares
# SAYS: This is 1 less the sum of squares, another measure. Entropy weights each surprisal, -log p, by p.
def entropy(probs):
    return 1 - (probs * probs).sum(dim=-1)
