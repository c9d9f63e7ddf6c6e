# exercise: attention
# WRONG: only the last Tq keys are read
# SAYS: Only the last Tq keys are read: a query sees all keys that the mask allows.
def attention(q, k, v, mask=None):
    k, v = k[:, :, -q.shape[2]:], v[:, :, -q.shape[2]:]
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask[..., -q.shape[2]:], float("-inf"))
    return softmax(scores) @ v
