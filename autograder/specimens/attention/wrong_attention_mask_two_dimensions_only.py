# exercise: attention
# WRONG: takes the mask for (Tq, Tk) and cannot use (B, 1, Tq, Tk)
# SAYS: Only a mask (Tq, Tk) can be used: it may come in any shape that broadcasts to (B, H, Tq, Tk).
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask.view(1, 1, scores.shape[2], scores.shape[3]), float("-inf"))
    return softmax(scores) @ v
