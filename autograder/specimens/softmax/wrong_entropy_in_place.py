# exercise: entropy
# WRONG: writes 1 over the zeros of the caller's tensor
def entropy(probs):
    probs[probs == 0] = 1.0
    return -(probs * probs.log()).sum(dim=-1)
