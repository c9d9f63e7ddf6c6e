# exercise: entropy
# WRONG: the mean over all rows
def entropy(probs):
    return torch.special.entr(probs).sum(dim=-1).mean()
