# exercise: entropy
# WRONG: in bits
# SAYS: These are bits. Nats come from the natural logarithm.
def entropy(probs):
    return -torch.where(probs > 0, probs * probs.log2(), 0.0).sum(dim=-1)
