# exercise: draw
# WRONG: 1 - u: the right frequencies from the wrong end

def draw(probs, u):
    cumulative = probs.cumsum(dim=-1)
    return (cumulative <= 1 - u.reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)
