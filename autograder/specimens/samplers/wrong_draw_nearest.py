# exercise: draw
# WRONG: the token whose running sum is nearest to u

def draw(probs, u):
    probs = at_least_float32(probs)
    return (probs.cumsum(dim=-1) - u.reshape(-1, 1)).abs().argmin(dim=-1, keepdim=True)
