# exercise: entropy
# WRONG: the terms, not their sum
# SAYS: These are the terms. Sum them over the last dimension.
def entropy(probs):
    return torch.special.entr(probs)
