# exercise: entropy
# WRONG: nan becomes 0 after the sum: the other terms are lost
def entropy(probs):
    return (-(probs * probs.log()).sum(dim=-1)).nan_to_num(nan=0.0)
