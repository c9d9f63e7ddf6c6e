# exercise: entropy
# WRONG: a certain row gives nan, the rest is right
def entropy(probs):
    h = torch.special.entr(probs).sum(dim=-1)
    return h / (h > 0)
