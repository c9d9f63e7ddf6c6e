# exercise: entropy
# WRONG: selects the positive entries of all rows at once
def entropy(probs):
    p = probs[probs > 0]
    return -(p * p.log()).sum()
