# exercise: attention
# WRONG: groups are taken to hold two query heads
# SAYS: Groups are taken to hold two query heads: they hold H/K.
def attention(q, k, v, mask=None):
    if k.shape[1] != q.shape[1]:
        index = (torch.arange(q.shape[1]) // 2).clamp(max=k.shape[1] - 1)
        k, v = k[:, index], v[:, index]
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v
