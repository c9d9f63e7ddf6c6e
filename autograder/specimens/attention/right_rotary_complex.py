# exercise: rotary
# RIGHT: pairs as complex numbers, multiplied by numbers of length 1
import torch


def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    rates = torch.pow(torch.tensor(float(base)), -torch.arange(half) / half).to(x.device)
    angles = positions[..., None] * rates
    if positions.ndim == 2:
        angles = angles[:, None]
    pairs = torch.complex(x[..., :half].float(), x[..., half:].float())
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1).to(x.dtype)
