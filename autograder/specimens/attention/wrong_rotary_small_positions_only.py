# exercise: rotary
# WRONG: positions wrap at 64
# SAYS: Positions begin again at 64: angles grow with the position without end.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = ((positions % 64).unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
