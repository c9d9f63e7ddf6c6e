# exercise: draw
# WRONG: sums in sorted order and maps back: right frequencies, not this inverse CDF

def draw(probs, u):
    probs = at_least_float32(probs)
    values, ids = probs.sort(dim=-1, descending=True)
    rank = (values.cumsum(dim=-1) <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)
    return ids.gather(-1, rank)
