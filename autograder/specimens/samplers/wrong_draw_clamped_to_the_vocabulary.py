# exercise: draw
# WRONG: where rounding leaves the last sum below u it answers V - 1, even if that token was cut

def draw(probs, u):
    sums = at_least_float32(probs).cumsum(dim=-1)
    return (sums <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)
