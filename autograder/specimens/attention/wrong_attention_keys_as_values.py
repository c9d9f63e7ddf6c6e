# exercise: attention
# WRONG: averages the keys
# SAYS: The keys are averaged: the weights belong to the values.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k = k.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ k
