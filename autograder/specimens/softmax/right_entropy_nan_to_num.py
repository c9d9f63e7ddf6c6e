# exercise: entropy
# RIGHT: repairs the terms, before the sum
def entropy(probs):
    return -(probs * probs.log()).nan_to_num(nan=0.0).sum(dim=-1)
