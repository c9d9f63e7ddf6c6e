# exercise: entropy
# WRONG: the terms, not their sum
def entropy(probs):
    return torch.special.entr(probs)
