# exercise: attention
# WRONG: keys in the right order, values in the wrong one
# SAYS: The keys are in the right order and the values are not: repeat both with repeat_interleave.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat(1, groups, 1, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v
