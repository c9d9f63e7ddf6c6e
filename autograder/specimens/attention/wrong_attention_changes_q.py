# exercise: attention
# WRONG: scales the caller's queries in place
# SAYS: The caller's queries are scaled in place: write q * scale, not q *= scale.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    q /= q.shape[-1] ** 0.5
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v
