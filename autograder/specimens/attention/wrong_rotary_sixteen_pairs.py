# exercise: rotary
# WRONG: pairs beyond the sixteenth are not turned
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    precise = torch.promote_types(x.dtype, torch.float32)
    frequencies = base ** (-torch.arange(half, device=x.device, dtype=precise) / half)
    angles = (positions.unsqueeze(-1) * frequencies).unsqueeze(-3)
    angles = torch.where(torch.arange(half, device=x.device) < 16, angles, 0.0)
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., :half], x[..., half:]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)
