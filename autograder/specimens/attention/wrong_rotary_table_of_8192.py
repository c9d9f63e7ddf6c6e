# exercise: rotary
# WRONG: a table of 8,192 positions: a later one takes the last
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    frequencies = base ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
    table = torch.arange(8192, device=x.device)[:, None] * frequencies
    angles = table[positions.clamp(max=8191)].unsqueeze(-3)
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., :half], x[..., half:]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)
