# exercise: draw
# WRONG: one token too far

def draw(probs, u):
    cumulative = probs.cumsum(dim=-1)
    index = (cumulative <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True) + 1
    return index.clamp(max=probs.shape[-1] - 1)
