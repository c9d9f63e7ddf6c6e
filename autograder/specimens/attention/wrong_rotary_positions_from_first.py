# exercise: rotary
# WRONG: positions counted from the first one given
# SAYS: Positions are counted from the first one given: use them as they are.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    positions = positions - positions[..., :1]
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
