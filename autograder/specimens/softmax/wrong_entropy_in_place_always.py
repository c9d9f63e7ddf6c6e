# exercise: entropy
# WRONG: multiplies the caller's tensor by its logarithm
def entropy(probs):
    return -probs.mul_(probs.log().nan_to_num(neginf=0.0)).sum(dim=-1)
