# exercise: rotary
# WRONG: always positions 0, 1, 2, ...
# SAYS: Every token is turned by its place in the tensor: use `positions`.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[2], device=x.device)[:, None] * base ** (-torch.arange(half, device=x.device) / half)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
