# exercise: entropy
# WRONG: 1e-6 added to the probabilities everywhere
def entropy(probs):
    p = probs + 1e-6
    return -(p * p.log()).sum(dim=-1)
