# exercise: entropy
# WRONG: surprisals averaged with equal weights
def entropy(probs):
    positive = probs > 0
    return torch.where(positive, -probs.log(), 0.0).sum(dim=-1) / positive.sum(dim=-1)
