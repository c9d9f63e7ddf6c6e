# exercise: entropy
# WRONG: squeezes
# SAYS: Dimensions of size 1 are squeezed away. Only the last dimension goes.
def entropy(probs):
    return torch.special.entr(probs).sum(-1).squeeze()
