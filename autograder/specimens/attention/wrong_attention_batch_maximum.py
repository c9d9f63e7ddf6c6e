# exercise: attention
# WRONG: one maximum for the whole tensor, so that other rows underflow
# SAYS: One maximum is taken for the whole tensor before the softmax: scores of other rows far below it all underflow to 0. Take it over the last dimension.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = (scores - scores.max()).exp()
    return weights / weights.sum(-1, keepdim=True) @ v
