# exercise: draw
# WRONG: rounds u to the dtype of the probabilities

def draw(probs, u):
    u = u.to(probs.dtype)
    sums = at_least_float32(probs).cumsum(dim=-1)
    return (sums / sums[:, -1:] <= at_least_float32(u).reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)
