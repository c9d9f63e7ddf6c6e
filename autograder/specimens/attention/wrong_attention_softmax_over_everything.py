# exercise: attention
# WRONG: one softmax over queries and keys together
# SAYS: One softmax runs over queries and keys together: each query has its own, over the keys.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores.flatten(2)).view(scores.shape) @ v
