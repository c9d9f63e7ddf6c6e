# exercise: entropy
# WRONG: logarithms to base 10
# SAYS: The logarithm is to base 10. Use the natural one.
def entropy(probs):
    return -torch.where(probs > 0, probs * probs.log10(), 0.0).sum(dim=-1)
