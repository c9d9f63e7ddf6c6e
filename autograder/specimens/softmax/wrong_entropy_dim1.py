# exercise: entropy
# WRONG: over dimension 1 where there is one
def entropy(probs):
    return torch.special.entr(probs).sum(dim=min(1, probs.dim() - 1))
