# exercise: draw
# WRONG: compares in float32 always: the digits of float64 probabilities and of a float64 u are lost

def draw(probs, u):
    sums = probs.float().cumsum(dim=-1)
    return (sums / sums[:, -1:] <= u.float().reshape(-1, 1)).sum(dim=-1, keepdim=True)
