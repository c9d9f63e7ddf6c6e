# exercise: draw
# WRONG: the last sum that does not exceed u

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs.cumsum(dim=-1)
    return ((cumulative <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True) - 1).clamp(min=0)
