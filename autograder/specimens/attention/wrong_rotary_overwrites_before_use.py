# exercise: rotary
# WRONG: the second half is computed from the first half already turned
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half) / half)).unsqueeze(-3)
    out = x.clone()
    out[..., :half] = out[..., :half] * angles.cos() - out[..., half:] * angles.sin()
    out[..., half:] = out[..., half:] * angles.cos() + out[..., :half] * angles.sin()
    return out
