# exercise: attention
# WRONG: view of q to (B*H, Tq, Dh): refuses what split_heads gives
# SAYS: `view` needs the numbers in memory in the order of the shape, and split_heads gives a transposed tensor: use reshape.
def attention(q, k, v, mask=None):
    B, H, Tq, Dh = q.shape
    g = H // k.shape[1]
    k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
    s = (q.view(B * H, Tq, Dh) @ k.reshape(B * H, -1, Dh).mT).reshape(B, H, Tq, -1) / Dh ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    return softmax(s) @ v
