# exercise: attention
# WRONG: groups of more than four query heads share the first four only
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    q = q if groups <= 4 else q[:, torch.arange(q.shape[1]) // groups * groups + torch.arange(q.shape[1]) % groups % 4]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return softmax(scores) @ v
