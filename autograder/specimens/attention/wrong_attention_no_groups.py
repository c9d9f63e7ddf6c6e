# exercise: attention
# WRONG: as many key/value heads as query heads, or an error
# SAYS: There must be as many key/value heads as query heads here: give each query head its own, h // (H/K).
def attention(q, k, v, mask=None):
    scores = torch.bmm(q.flatten(0, 1), k.flatten(0, 1).mT).view(q.shape[0], q.shape[1], q.shape[2], -1)
    scores = scores / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v
