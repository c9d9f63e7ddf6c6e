# exercise: draw
# WRONG: flattens with view: probabilities that are not contiguous raise

def draw(probs, u):
    sums = at_least_float32(probs).view(-1).view(probs.shape).cumsum(dim=-1)
    return (sums / sums[:, -1:] <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True)
