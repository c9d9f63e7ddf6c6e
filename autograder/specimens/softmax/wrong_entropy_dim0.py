# exercise: entropy
# WRONG: over the first dimension
def entropy(probs):
    return torch.special.entr(probs).sum(dim=0)
