# exercise: attention
# WRONG: every query head reads key/value head 0 where heads are grouped
# SAYS: Every query head reads key/value head 0 where heads are grouped: head h reads h // (H/K).
def attention(q, k, v, mask=None):
    if k.shape[1] != q.shape[1]:
        k, v = k[:, :1], v[:, :1]
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v
