# exercise: entropy
# WRONG: probabilities below 1e-6 count as 1e-6
def entropy(probs):
    p = probs.clamp_min(1e-6)
    return -(p * p.log()).sum(dim=-1)
