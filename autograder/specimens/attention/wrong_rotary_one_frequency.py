# exercise: rotary
# WRONG: every pair turns by the position itself
# SAYS: Every pair turns by the position itself: pair j turns by position * base^(-2j/Dh).
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = positions.unsqueeze(-1).expand(*positions.shape, half).float().unsqueeze(-3)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
