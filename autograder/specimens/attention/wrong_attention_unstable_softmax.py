# exercise: attention
# WRONG: exponentials of the scores themselves overflow
# SAYS: The exponential of a large score overflows: use your softmax of Day 1, which subtracts the maximum first.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.exp()
    return weights / weights.sum(-1, keepdim=True) @ v
