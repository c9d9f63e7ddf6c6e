# exercise: rotary
# WRONG: with positions (B, T), row 0 is used for every row
# SAYS: With positions (B, T), those of row 0 are used for every row.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    if positions.dim() == 2:
        positions = positions[0]
    angles = positions[:, None] * base ** (-torch.arange(half, device=x.device) / half)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
