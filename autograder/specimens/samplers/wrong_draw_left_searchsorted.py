# exercise: draw
# WRONG: searchsorted from the left: the wrong token on an edge

def draw(probs, u):
    probs = at_least_float32(probs)
    index = torch.searchsorted(probs.cumsum(dim=-1), u.reshape(-1, 1))
    return index.clamp(max=probs.shape[-1] - 1)
