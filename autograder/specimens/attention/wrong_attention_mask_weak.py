# exercise: attention
# WRONG: hidden scores lose 100 only, which large scores make up for
# SAYS: Hidden scores are only lowered by 100, which large scores make up for: use -inf.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores - 100.0 * (~mask).to(scores.dtype)
    return softmax(scores) @ v
