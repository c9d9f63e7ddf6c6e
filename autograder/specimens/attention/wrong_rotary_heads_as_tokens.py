# exercise: rotary
# WRONG: positions run along the heads where there are as many heads as tokens
# SAYS: The positions run along the heads where there are as many heads as tokens: tokens are dimension 2 of x.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)
    if positions.dim() == 1 and x.shape[1] == x.shape[2]:
        angles = angles[:, None]
    elif positions.dim() == 2:
        angles = angles.unsqueeze(1)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
