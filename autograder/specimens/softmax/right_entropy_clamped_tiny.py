# exercise: entropy
# RIGHT: clamps at the smallest normal number, which changes no other value
def entropy(probs):
    floor = torch.finfo(probs.dtype).tiny
    return -(probs * probs.clamp_min(floor).log()).sum(dim=-1)
