# exercise: attention
# WRONG: only the 64 largest scores of each query count
# SAYS: Only the 64 largest scores of each query count: all of them do.
def attention(q, k, v, mask=None):
    B, H, Tq, Dh = q.shape
    g = H // k.shape[1]
    k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
    s = q @ k.mT / Dh ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    if s.shape[-1] > 64:
        s = s.masked_fill(s < s.topk(64, -1).values[..., -1:], float("-inf"))
    return softmax(s) @ v
