# exercise: entropy
# WRONG: clamps the caller's tensor
def entropy(probs):
    probs.clamp_(min=1e-30)
    return -(probs * probs.log()).sum(dim=-1)
