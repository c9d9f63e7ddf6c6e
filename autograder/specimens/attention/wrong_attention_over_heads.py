# exercise: attention
# WRONG: the heads of one token attend to each other
# SAYS: The heads of one token attend to each other here: tokens must stand in the last dimension but one, (B, H, T, Dh).
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    q, k, v = q.transpose(1, 2), k.transpose(1, 2)[:, -q.shape[2]:], v.transpose(1, 2)[:, -q.shape[2]:]
    return (softmax(q @ k.mT / q.shape[-1] ** 0.5) @ v).transpose(1, 2)
