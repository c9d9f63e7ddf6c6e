# exercise: rotary
# WRONG: writes into the caller's tensor
# SAYS: The caller's tensor is written to: build a new one.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    a, b = x[..., :half].clone(), x[..., half:].clone()
    x[..., :half] = a * angles.cos() - b * angles.sin()
    x[..., half:] = b * angles.cos() + a * angles.sin()
    return x
