# exercise: attention
# WRONG: causal even where no mask is given
# SAYS: Without a mask every query sees every key; a causal mask is put in here though none is given.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is None:
        mask = causal_mask(q.shape[2], k.shape[2]).to(q.device)
    return softmax(scores.masked_fill(~mask, float("-inf"))) @ v
