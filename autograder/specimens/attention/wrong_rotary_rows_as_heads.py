# exercise: rotary
# WRONG: rows of (B, T) positions line up with the heads, not with the batch
# SAYS: The rows of positions (B, T) lie along the heads: give the angles a dimension of size 1 for the heads, (B, 1, T, Dh/2).
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)
    if positions.dim() == 2 and positions.shape[0] != x.shape[1]:
        angles = angles.unsqueeze(1)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
