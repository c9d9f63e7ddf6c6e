# exercise: draw
# WRONG: scales u in place
def draw(probs, u):
    c = probs.cumsum(-1)
    x = u.view(-1, 1)
    x *= c[:, -1:]
    return (c <= x).sum(-1, keepdim=True).clamp(max=probs.shape[-1] - 1)
