# exercise: attention
# WRONG: query head h reads key/value head h // K
# SAYS: Query head h reads key/value head h // K: the group holds H/K heads, so it is h // (H/K).
def attention(q, k, v, mask=None):
    index = (torch.arange(q.shape[1]) // k.shape[1]).clamp(max=k.shape[1] - 1) if k.shape[1] != q.shape[1] else torch.arange(k.shape[1])
    k, v = k[:, index], v[:, index]
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v
