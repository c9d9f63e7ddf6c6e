# exercise: entropy
# WRONG: drops the columns where the first row has zeros
def entropy(probs):
    keep = probs.reshape(-1, probs.shape[-1])[0] > 0
    p = probs[..., keep]
    return -torch.xlogy(p, p).sum(dim=-1)
