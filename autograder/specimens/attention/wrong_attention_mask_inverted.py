# exercise: attention
# WRONG: hides where the mask is True
# SAYS: Scores are hidden where the mask is True: True means that the query may see the key.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    return softmax(scores) @ v
