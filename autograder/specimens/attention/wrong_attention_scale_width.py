# exercise: attention
# WRONG: the root of the model's width H*Dh
# SAYS: The scores are divided by the root of H*Dh, all heads together: Dh is the width of one.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / (q.shape[1] * q.shape[-1]) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v
