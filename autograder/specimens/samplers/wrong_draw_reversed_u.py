# exercise: draw
# WRONG: compares with 1 - u: the frequencies are right, the tokens for a given u are not

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs.cumsum(dim=-1)
    return (cumulative <= 1 - u.reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)
