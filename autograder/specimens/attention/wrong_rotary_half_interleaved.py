# exercise: rotary
# WRONG: reads neighbouring pairs and writes them into halves
# SAYS: Neighbouring entries are read as pairs and written into halves: pair entry j with j + Dh/2, and leave each in its place.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
