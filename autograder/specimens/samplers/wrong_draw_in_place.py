# exercise: draw
# WRONG: sums up in the caller's tensor

def draw(probs, u):
    probs = at_least_float32(probs)
    probs.copy_(probs.cumsum(dim=-1))
    return (probs <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)
