# exercise: rotary
# WRONG: positions (B, T) are used by their first row where the batch has one row or all begin alike
def rotary(x, positions, base=10000.0):
    positions = positions[0] if positions.dim() == 2 and bool((positions[:, 0] == positions[0, 0]).all()) else positions
    half = x.shape[-1] // 2
    precise = torch.promote_types(x.dtype, torch.float32)
    frequencies = base ** (-torch.arange(half, device=x.device, dtype=precise) / half)
    angles = (positions.unsqueeze(-1) * frequencies).unsqueeze(-3)
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., :half], x[..., half:]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)
