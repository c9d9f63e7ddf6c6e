# exercise: attention
# WRONG: where there is one query, the caller's queries are scaled in place
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    q = q.mul_(q.shape[-1] ** -0.5) if q.shape[2] == 1 else q * q.shape[-1] ** -0.5
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return softmax(scores) @ v
