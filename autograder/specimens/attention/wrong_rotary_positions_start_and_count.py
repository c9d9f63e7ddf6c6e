# exercise: rotary
# WRONG: takes the first position and counts on from there
# SAYS: The first position is taken and the others counted on from it: positions may have gaps.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    positions = positions[..., :1] + torch.arange(x.shape[2], device=x.device)
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
