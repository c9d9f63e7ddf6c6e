# exercise: draw
# WRONG: changes the caller's u in place
def draw(probs, u):
    probs = at_least_float32(probs)
    c = probs.cumsum(-1)
    x = u.view(-1, 1)
    x *= c[:, -1:]
    return (c <= x).sum(-1, keepdim=True).clamp(max=probs.shape[-1] - 1)
