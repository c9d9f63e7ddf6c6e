# exercise: attention
# WRONG: hidden scores are set to -inf times 0, which is nan
# SAYS: Minus infinity times 0 is nan: use masked_fill or torch.where in place of a product.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + (~mask) * float("-inf")
    return softmax(scores) @ v
