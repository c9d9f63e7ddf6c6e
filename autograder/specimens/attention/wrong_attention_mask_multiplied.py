# exercise: attention
# WRONG: multiplies the scores by the mask: a hidden key still has exp(0)
# SAYS: The scores are multiplied by the mask, and a hidden score of 0 still has a weight: put -inf there.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores * mask
    return softmax(scores) @ v
