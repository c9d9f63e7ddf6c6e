# exercise: entropy
# WRONG: a Python number: one row only
def entropy(probs):
    return float(torch.special.entr(probs).sum())
