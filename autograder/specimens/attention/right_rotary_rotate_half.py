# exercise: rotary
# RIGHT: cosines and sines of full width, and the vector with its halves exchanged
import torch


def rotary(x, positions, base=10000.0):
    Dh = x.shape[-1]
    inv_freq = 1.0 / (base ** (torch.arange(0, Dh, 2, device=x.device).float() / Dh))
    freqs = positions.float()[..., None] @ inv_freq[None]
    emb = torch.cat((freqs, freqs), dim=-1)
    if emb.dim() == 2:
        emb = emb[None]
    cos = emb.cos()[:, None].to(x.dtype)
    sin = emb.sin()[:, None].to(x.dtype)
    swapped = torch.cat((-x[..., Dh // 2:], x[..., : Dh // 2]), dim=-1)
    return x * cos + swapped * sin
