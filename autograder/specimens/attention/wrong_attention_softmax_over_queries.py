# exercise: attention
# WRONG: the softmax runs over the queries
# SAYS: The softmax runs over the queries: it runs over the keys, the last dimension.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores.mT).mT @ v
