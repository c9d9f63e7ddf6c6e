# exercise: rotary
# WRONG: the second half is computed from the first half already turned
# SAYS: The second half is computed from the first half already turned: keep the old one until both are done.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    out = x.clone()
    out[..., :half] = out[..., :half] * angles.cos() - out[..., half:] * angles.sin()
    out[..., half:] = out[..., half:] * angles.cos() + out[..., :half] * angles.sin()
    return out
