# exercise: attention
# WRONG: repeat instead of repeat_interleave: head h reads key/value head h % K
# SAYS: Key/value heads are repeated as 0 1 0 1: with repeat_interleave they stand as 0 0 1 1, and query head h reads h // (H/K).
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat(1, groups, 1, 1), v.repeat(1, groups, 1, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v
