# exercise: draw
# WRONG: sums in sorted order and returns the rank

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs.sort(dim=-1, descending=True).values.cumsum(dim=-1)
    return (cumulative <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)
