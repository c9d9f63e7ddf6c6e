# exercise: entropy
# WRONG: logarithms to base 10
def entropy(probs):
    return -torch.where(probs > 0, probs * probs.log10(), 0.0).sum(dim=-1)
