# exercise: entropy
# WRONG: ignores probabilities below 1e-8
def entropy(probs):
    return torch.where(probs > 1e-8, -probs * probs.log(), 0.0).sum(dim=-1)
