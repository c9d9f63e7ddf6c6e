# exercise: attention
# WRONG: a mask for each query head is applied to the groups in the wrong order
# SAYS: Where query heads are grouped, a mask for each head meets the wrong heads: head h stays at place h.
def attention(q, k, v, mask=None):
    B, H, Tq, Dh = q.shape
    K = k.shape[1]
    q = q.view(B, K, H // K, Tq, Dh).transpose(1, 2)
    scores = q @ k[:, None].mT / Dh**0.5
    if mask is not None:
        mask = mask.expand(B, H, Tq, k.shape[2]).reshape(B, H // K, K, Tq, -1)
        scores = scores.masked_fill(~mask, float("-inf"))
    return (softmax(scores) @ v[:, None]).transpose(1, 2).reshape(B, H, Tq, Dh)
