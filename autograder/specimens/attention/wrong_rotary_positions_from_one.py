# exercise: rotary
# WRONG: one is added to every position
# SAYS: One is added to every position.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = ((positions + 1).unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
