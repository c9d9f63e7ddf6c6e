# exercise: rotary
# WRONG: rows of (B, T) positions line up with the heads, not with the batch
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = positions.unsqueeze(-1) * base ** (-torch.arange(half) / half)
    if positions.dim() == 2 and positions.shape[0] != x.shape[1]:
        angles = angles.unsqueeze(1)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
