# exercise: entropy
# WRONG: a list of rows: the leading dimensions are lost
def entropy(probs):
    return torch.special.entr(probs.reshape(-1, probs.shape[-1])).sum(dim=-1)
