# exercise: draw
# WRONG: where rounding leaves the last sum below u it begins again at token 0

def draw(probs, u):
    sums = at_least_float32(probs).cumsum(dim=-1)
    return (sums <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True) % probs.shape[-1]
