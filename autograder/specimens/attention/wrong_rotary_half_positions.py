# exercise: rotary
# WRONG: positions through float16: beyond 2048 they are rounded
# SAYS: Positions pass through float16, which rounds them beyond 2,048: use float32.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    a = positions.half().float()[..., None] * base ** (-torch.arange(half, device=x.device) / half)
    a = a[:, None] if a.dim() == 3 else a
    f, s = x[..., :half], x[..., half:]
    return torch.cat((f * a.cos() - s * a.sin(), s * a.cos() + f * a.sin()), -1).to(x.dtype)
