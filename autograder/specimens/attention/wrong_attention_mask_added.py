# exercise: attention
# WRONG: adds the bool mask to the scores
# SAYS: The bool mask is added to the scores, which hides nothing: put -inf where it is False.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + mask
    return softmax(scores) @ v
