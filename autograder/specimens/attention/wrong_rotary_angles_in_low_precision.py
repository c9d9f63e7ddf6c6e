# exercise: rotary
# WRONG: angles in the dtype of x, so that bfloat16 confuses far positions
# SAYS: The angles are computed in the dtype of x, and bfloat16 rounds far positions together: use float32.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    rates = (base ** (-torch.arange(half, device=x.device) / half)).to(x.dtype)
    angles = (positions.to(x.dtype).unsqueeze(-1) * rates).unsqueeze(-3)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1)
