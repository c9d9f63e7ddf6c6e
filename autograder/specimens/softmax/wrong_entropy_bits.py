# exercise: entropy
# WRONG: in bits
def entropy(probs):
    return -torch.where(probs > 0, probs * probs.log2(), 0.0).sum(dim=-1)
