# exercise: entropy
# WRONG: keeps the last dimension
def entropy(probs):
    return torch.special.entr(probs).sum(dim=-1, keepdim=True)
