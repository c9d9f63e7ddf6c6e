# exercise: attention
# WRONG: a mask for each row is inverted in the caller's memory
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        hidden = ~mask if mask.dim() == 2 else mask.logical_not_()
        scores = scores.masked_fill(hidden, -torch.inf)
    return softmax(scores) @ v
