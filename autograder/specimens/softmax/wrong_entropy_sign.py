# exercise: entropy
# WRONG: the sign turned round
def entropy(probs):
    return torch.xlogy(probs, probs).sum(dim=-1)
