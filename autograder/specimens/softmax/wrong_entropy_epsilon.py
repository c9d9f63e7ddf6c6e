# exercise: entropy
# WRONG: 1e-6 added inside the logarithm
def entropy(probs):
    return -(probs * (probs + 1e-6).log()).sum(dim=-1)
