# exercise: attention
# WRONG: any mask is taken for the causal one
# SAYS: The mask that is given is replaced by the causal one: use its own entries.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~causal_mask(q.shape[2], k.shape[2]).to(q.device), float("-inf"))
    return softmax(scores) @ v
