# exercise: draw
# WRONG: (B,) instead of (B, 1)

def draw(probs, u):
    cumulative = probs.cumsum(dim=-1)
    return (cumulative <= u.reshape(-1, 1)).sum(dim=-1).clamp(max=probs.shape[-1] - 1)
