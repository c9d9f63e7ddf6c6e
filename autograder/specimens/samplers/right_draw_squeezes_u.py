# exercise: draw
# RIGHT: takes u as a column and works with one number a row

def draw(probs, u):
    probs = at_least_float32(probs)
    u = u.squeeze(-1) if u.dim() == 2 else u
    below = torch.cumsum(probs, -1).le(u[:, None])
    last = probs.gt(0).long().cumsum(-1).argmax(-1)
    return torch.minimum(below.sum(-1), last).reshape(-1, 1)
