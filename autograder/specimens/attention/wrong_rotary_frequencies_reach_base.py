# exercise: rotary
# WRONG: frequencies spread so that the last one is exactly 1/base
# SAYS: The frequencies are spread so that the last is 1/base: with -2j/Dh the last pair stays a little above it.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** -torch.linspace(0, 1, half, device=x.device)).unsqueeze(-3)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
