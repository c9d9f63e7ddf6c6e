# exercise: entropy
# WRONG: takes a row with a zero for a certain one
def entropy(probs):
    h = torch.special.entr(probs).sum(dim=-1)
    return torch.where((probs == 0).any(dim=-1), torch.zeros_like(h), h)
