# exercise: draw
# WRONG: a u of shape (B,) gives token ids of shape (B,)

def draw(probs, u):
    sums = at_least_float32(probs).cumsum(dim=-1)
    tokens = (sums / sums[:, -1:] <= u.reshape(-1, 1)).sum(dim=-1)
    return tokens.reshape(u.shape)
