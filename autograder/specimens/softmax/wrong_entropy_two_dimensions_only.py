# exercise: entropy
# WRONG: wants a matrix
# SAYS: Only a matrix is accepted. Any number of dimensions may stand before the last.
def entropy(probs):
    b, v = probs.shape
    return torch.special.entr(probs).sum(dim=1)
