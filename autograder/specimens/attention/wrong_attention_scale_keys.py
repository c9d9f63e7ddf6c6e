# exercise: attention
# WRONG: the root of the number of keys instead of Dh
# SAYS: The scores are divided by the root of the number of keys: Dh is the width of a head.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / k.shape[2] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v
