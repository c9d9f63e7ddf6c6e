# exercise: entropy
# WRONG: the logarithm clamped at -10
def entropy(probs):
    return -(probs * probs.log().clamp_min(-10.0)).sum(dim=-1)
