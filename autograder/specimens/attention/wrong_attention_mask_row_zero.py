# exercise: attention
# WRONG: the first row's mask for every row of the batch
# SAYS: The first row's mask is used for every row of the batch: let the mask broadcast as it is.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dim() == 4:
            mask = mask[:1]
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v
