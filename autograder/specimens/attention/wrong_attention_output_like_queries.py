# exercise: attention
# WRONG: the output is made in the shape of the queries: values of another width do not fit
# SAYS: The output is given the shape of q: it is as wide as the values, which may differ.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    out = torch.empty_like(q)
    out[:] = softmax(scores) @ v
    return out
