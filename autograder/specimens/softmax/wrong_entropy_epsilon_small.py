# exercise: entropy
# WRONG: 1e-9 added inside the logarithm
def entropy(probs):
    return -(probs * (probs + 1e-9).log()).sum(dim=-1)
