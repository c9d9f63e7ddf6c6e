# exercise: rotary
# WRONG: always 10000
# SAYS: The base is always 10000: use the argument `base`.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * 10000.0 ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
