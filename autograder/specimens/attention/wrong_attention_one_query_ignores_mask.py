# exercise: attention
# WRONG: a single query sees every key, whatever the mask says
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None and q.shape[2] > 1:
        scores = scores.masked_fill(~mask, -torch.inf)
    return softmax(scores) @ v
