# exercise: entropy
# WRONG: works in float32, where float64 loses its digits
def entropy(probs):
    p = probs.float()
    return torch.special.entr(p).sum(dim=-1).to(probs.dtype)
