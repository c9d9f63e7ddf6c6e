# exercise: attention
# WRONG: hidden scores become -1e4: above visible ones that are lower still
# SAYS: Hidden scores become -10,000, which is above visible ones that are lower still: use -inf.
def attention(q, k, v, mask=None):
    g = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
    s = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, -1e4)
    return softmax(s) @ v
