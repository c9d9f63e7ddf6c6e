# exercise: rotary
# WRONG: positions (B, T) are not supported
# SAYS: Positions (B, T) cannot be used: each row may have its own.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = torch.outer(positions.float(), base ** (-torch.arange(half, device=x.device) / half))
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
