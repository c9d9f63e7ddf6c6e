# exercise: attention
# RIGHT: einsum, keys and values repeated by interleaving, torch.where for the mask
import math

import torch


def attention(q, k, v, mask=None):
    groups = q.size(1) // k.size(1)
    k = torch.repeat_interleave(k, groups, dim=1)
    v = torch.repeat_interleave(v, groups, dim=1)
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(float("-inf"), dtype=scores.dtype))
    return torch.einsum("bhqk,bhkd->bhqd", torch.softmax(scores, dim=-1), v)
