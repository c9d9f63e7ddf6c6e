# exercise: entropy
# WRONG: the mean over all rows
# SAYS: The rows are averaged. Each row has an entropy of its own.
def entropy(probs):
    return torch.special.entr(probs).sum(dim=-1).mean()
