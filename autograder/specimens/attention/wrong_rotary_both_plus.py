# exercise: rotary
# WRONG: a plus in both halves: no rotation, lengths change
# SAYS: Both halves have a plus: the first is a cos - b sin.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() + b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
