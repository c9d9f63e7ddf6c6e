# exercise: draw
# WRONG: refuses a u of shape (B,)

def draw(probs, u):
    if u.dim() != 2:
        raise ValueError(f"u must be a column, got {tuple(u.shape)}")
    sums = at_least_float32(probs).cumsum(dim=-1)
    return (sums / sums[:, -1:] <= u).sum(dim=-1, keepdim=True)
