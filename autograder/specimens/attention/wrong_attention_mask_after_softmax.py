# exercise: attention
# WRONG: weights of hidden keys set to 0 after the softmax
# SAYS: Weights of hidden keys are set to 0 after the softmax, and the rest no longer sums to 1: put -inf before it.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    weights = softmax(q @ k.mT / q.shape[-1] ** 0.5)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ v
