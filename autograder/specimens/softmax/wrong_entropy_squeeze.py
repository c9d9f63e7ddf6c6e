# exercise: entropy
# WRONG: squeezes
def entropy(probs):
    return torch.special.entr(probs).sum(-1).squeeze()
