# exercise: attention
# WRONG: groups the queries with view: raises for what split_heads gives, which is transposed

def attention(q, k, v, mask=None):
    B, H, Tq, Dh = q.shape
    K, Tk = k.shape[1:3]
    grouped = (q * Dh**-0.5).view(B, K, H // K * Tq, Dh)
    scores = (grouped @ k.transpose(-2, -1)).reshape(B, H, Tq, Tk)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = softmax(scores).reshape(B, K, H // K * Tq, Tk)
    return (weights @ v).reshape(B, H, Tq, v.shape[-1])
