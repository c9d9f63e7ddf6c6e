# exercise: entropy
# WRONG: one number for the whole tensor
def entropy(probs):
    return torch.special.entr(probs).sum()
