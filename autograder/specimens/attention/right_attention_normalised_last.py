# exercise: attention
# RIGHT: divides by the sum of the exponentials after averaging, head by head
import torch


def attention(q, k, v, mask=None):
    outs = []
    for h in range(q.shape[1]):
        g = h // (q.shape[1] // k.shape[1])
        s = q[:, h] @ k[:, g].transpose(1, 2) * q.shape[-1] ** -0.5
        if mask is not None:
            m = mask.broadcast_to(q.shape[0], q.shape[1], q.shape[2], k.shape[2])[:, h]
            s = s.masked_fill(m == 0, float("-inf"))
        e = torch.exp(s - s.amax(-1, keepdim=True))
        outs.append((e @ v[:, g]) / e.sum(-1, keepdim=True))
    return torch.stack(outs, dim=1)
