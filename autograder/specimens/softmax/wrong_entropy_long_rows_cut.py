# exercise: entropy
# WRONG: rows longer than 32,768 are cut there
def entropy(probs):
    return torch.special.entr(probs[..., :32_768]).sum(dim=-1)
