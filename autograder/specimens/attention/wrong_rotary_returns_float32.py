# exercise: rotary
# WRONG: returns float32 whatever comes in
# SAYS: float32 comes back whatever comes in: give back the dtype of x.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    a, b = x[..., :half].float(), x[..., half:].float()
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1)
