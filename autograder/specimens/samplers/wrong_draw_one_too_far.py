# exercise: draw
# WRONG: names the token after the one at u

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs.cumsum(dim=-1)
    index = (cumulative <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True) + 1
    return index.clamp(max=probs.shape[-1] - 1)
