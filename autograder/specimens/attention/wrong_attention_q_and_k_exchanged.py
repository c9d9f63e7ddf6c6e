# exercise: attention
# WRONG: rows of the scores are keys
# SAYS: The rows of the scores are keys: queries are rows, q @ k.transpose(-2, -1).
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = k @ q.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v
