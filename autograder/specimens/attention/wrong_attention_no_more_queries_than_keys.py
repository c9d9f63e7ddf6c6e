# exercise: attention
# WRONG: the scores have room for as many queries as there are keys: more queries do not fit
# SAYS: There is only room for as many queries as there are keys: the two numbers are independent.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    room = q.new_zeros(*q.shape[:2], k.shape[2], k.shape[2])
    room[:, :, : q.shape[2]] = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = room[:, :, : q.shape[2]]
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return softmax(scores) @ v
