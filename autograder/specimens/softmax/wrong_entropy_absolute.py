# exercise: entropy
# WRONG: -0.0 and small negative results are turned positive by abs, and so is the sum of a sign mistake
# SAYS: Probabilities of 0 are made 1e-8 first, which adds to every row. A probability of 0 adds nothing.
def entropy(probs):
    return (probs.clamp_min(1e-8) * probs.clamp_min(1e-8).log()).sum(dim=-1).abs()
