# exercise: attention
# RIGHT: an axis for the group, keys expanded instead of copied
import torch


def attention(q, k, v, mask=None):
    B, H, Tq, Dh = q.shape
    K = k.shape[1]
    q5 = q.view(B, K, H // K, Tq, Dh) / Dh**0.5
    scores = q5 @ k.unsqueeze(2).expand(-1, -1, H // K, -1, -1).transpose(-1, -2)
    if mask is not None:
        full = mask.expand(B, H, Tq, k.shape[2]).view(B, K, H // K, Tq, -1)
        scores = scores.masked_fill(full.logical_not(), -torch.inf)
    out = softmax(scores) @ v.unsqueeze(2)
    return out.reshape(B, H, Tq, v.shape[-1])
