# exercise: attention
# WRONG: a mask (H, Tq, Tk) is taken for one of rows
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        mask = mask[:, None] if mask.dim() == 3 and len(mask) in (1, len(q)) else mask
        scores = scores.masked_fill(~mask, -torch.inf)
    return softmax(scores) @ v
