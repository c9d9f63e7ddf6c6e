# exercise: attention
# WRONG: returns the weights, not the average
# SAYS: The weights come back: multiply them with the values.
def attention(q, k, v, mask=None):
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores)
