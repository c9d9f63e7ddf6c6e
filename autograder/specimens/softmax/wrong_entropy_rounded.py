# exercise: entropy
# WRONG: rounded to two digits
def entropy(probs):
    return (torch.special.entr(probs).sum(dim=-1) * 100).round() / 100
