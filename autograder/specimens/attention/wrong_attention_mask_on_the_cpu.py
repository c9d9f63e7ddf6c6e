# exercise: attention
# WRONG: the bias made of the mask lies on the CPU, wherever the inputs lie
# SAYS: The tensor of zeros that becomes the bias is made on the CPU: on a GPU it cannot be added to the scores. Make it with device=mask.device.
import torch


def attention(q, k, v, mask=None):
    rep = q.shape[1] // k.shape[1]
    B, K, Tk, Dh = k.shape
    k = k[:, :, None].expand(B, K, rep, Tk, Dh).reshape(B, K * rep, Tk, Dh)
    v = v.repeat_interleave(rep, dim=1)
    scores = (q.float() * Dh**-0.25) @ (k.float() * Dh**-0.25).mT
    if mask is not None:
        scores = scores + torch.zeros(mask.shape).masked_fill(~mask, torch.finfo(torch.float32).min)
    scores -= scores.max(-1, keepdim=True).values
    scores.exp_()
    scores /= scores.sum(-1, keepdim=True)
    return (scores.to(v.dtype) @ v).to(q.dtype)
