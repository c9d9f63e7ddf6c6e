# exercise: attention
# RIGHT: one query at a time, in float64
import torch


def attention(q, k, v, mask=None):
    B, H, Tq, Dh = q.shape
    K, Tk = k.shape[1], k.shape[2]
    allowed = torch.ones(B, H, Tq, Tk, dtype=torch.bool, device=q.device)
    if mask is not None:
        allowed = allowed & mask
    out = torch.zeros(B, H, Tq, v.shape[-1], dtype=torch.float64, device=q.device)
    for b in range(B):
        for h in range(H):
            g = h * K // H
            for i in range(Tq):
                s = (k[b, g].double() @ q[b, h, i].double()) / Dh**0.5
                s[~allowed[b, h, i]] = -torch.inf
                out[b, h, i] = s.softmax(0) @ v[b, g].double()
    return out.to(q.dtype)
