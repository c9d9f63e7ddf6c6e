# exercise: attention
# WRONG: the mask is not used
# SAYS: The mask is not used.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    return softmax(q @ k.mT / q.shape[-1] ** 0.5) @ v
