# exercise: entropy
# WRONG: keeps the last dimension
# SAYS: The last dimension is kept. (..., V) becomes (...).
def entropy(probs):
    return torch.special.entr(probs).sum(dim=-1, keepdim=True)
