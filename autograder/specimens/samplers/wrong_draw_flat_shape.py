# exercise: draw
# WRONG: the token ids have shape (B,) instead of a column (B, 1)

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs.cumsum(dim=-1)
    return (cumulative <= u.reshape(-1, 1)).sum(dim=-1).clamp(max=probs.shape[-1] - 1)
