# exercise: draw
# WRONG: running sums in half precision
def draw(probs, u):
    probs = at_least_float32(probs)
    c = probs.half().cumsum(-1); c = c / c[:, -1:]
    return (c <= u.reshape(-1, 1)).sum(-1, keepdim=True)
