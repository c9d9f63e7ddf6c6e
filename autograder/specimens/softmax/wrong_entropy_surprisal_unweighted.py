# exercise: entropy
# WRONG: surprisals summed without their weights
def entropy(probs):
    return torch.where(probs > 0, -probs.log(), 0.0).sum(dim=-1)
