# exercise: attention
# WRONG: returns float32 whatever comes in
# SAYS: The result is float32 whatever comes in: give back the dtype of the inputs.
def attention(q, k, v, mask=None):
    q, k, v = q.float(), k.float(), v.float()
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v
