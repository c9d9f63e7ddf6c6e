# exercise: attention
# WRONG: inverts the caller's mask in place
# SAYS: The caller's mask is inverted in place: write ~mask.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not_(), float("-inf"))
    return softmax(scores) @ v
