# exercise: draw
# WRONG: >= instead of >: at u = 0 a token of probability 0 can come

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs.cumsum(dim=-1)
    return (cumulative < u.reshape(-1, 1)).sum(dim=-1, keepdim=True)
