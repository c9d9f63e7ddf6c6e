# exercise: rotary
# WRONG: pairs neighbouring entries (0, 1), (2, 3), ... instead of halves
# SAYS: Neighbouring entries are paired, 0 with 1: rotate-half pairs entry j with j + Dh/2.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)
    angles = angles.unsqueeze(-3)
    a, b = x[..., 0::2], x[..., 1::2]
    out = torch.stack((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1)
    return out.flatten(-2).to(x.dtype)
