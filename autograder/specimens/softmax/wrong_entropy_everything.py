# exercise: entropy
# WRONG: one number for the whole tensor
# SAYS: One number for the whole tensor. Each row has an entropy of its own.
def entropy(probs):
    return torch.special.entr(probs).sum()
