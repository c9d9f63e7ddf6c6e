# exercise: entropy
# WRONG: works in float16: the tail underflows
def entropy(probs):
    return torch.special.entr(probs.half()).sum(dim=-1).to(probs.dtype)
