# exercise: attention
# WRONG: the scale is applied to the weights
# SAYS: The weights are scaled instead of the scores: divide before the softmax.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) / q.shape[-1] ** 0.5 @ v
