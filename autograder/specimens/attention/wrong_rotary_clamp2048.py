# exercise: rotary
# WRONG: a table of 2048 positions, later ones clamped
# SAYS: The angles come from a table of 2,048 positions, and later ones take its last: compute them from the positions given.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    table = torch.arange(2048, device=x.device).float()[:, None] * base ** (-torch.arange(half, device=x.device) / half)
    a = table[positions.clamp(max=2047)]
    a = a[:, None] if a.dim() == 3 else a
    f, s = x[..., :half], x[..., half:]
    return torch.cat((f * a.cos() - s * a.sin(), s * a.cos() + f * a.sin()), -1).to(x.dtype)
