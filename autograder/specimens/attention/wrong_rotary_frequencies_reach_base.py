# exercise: rotary
# WRONG: frequencies spread so that the last one is exactly 1/base
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** -torch.linspace(0, 1, half)).unsqueeze(-3)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
