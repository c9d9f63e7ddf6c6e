# exercise: rotary
# WRONG: sine and cosine exchanged
# SAYS: Sine and cosine are exchanged.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.sin() - b * angles.cos(), b * angles.sin() + a * angles.cos()), dim=-1).to(x.dtype)
