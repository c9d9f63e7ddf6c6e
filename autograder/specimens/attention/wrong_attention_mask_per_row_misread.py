# exercise: attention
# WRONG: a mask (B, 1, Tq, Tk) is laid along the heads where B equals H
# SAYS: A mask (B, 1, Tq, Tk) is laid along the heads where B equals H: its first dimension is the batch.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        if mask.dim() == 4 and mask.shape[1] == 1 and mask.shape[0] == scores.shape[1]:
            mask = mask.transpose(0, 1)
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v
