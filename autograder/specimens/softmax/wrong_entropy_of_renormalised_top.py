# exercise: entropy
# WRONG: tokens below a thousandth of the largest are left out
def entropy(probs):
    kept = torch.where(probs < probs.amax(-1, keepdim=True) / 1000, 0.0, probs)
    return torch.special.entr(kept).sum(dim=-1)
