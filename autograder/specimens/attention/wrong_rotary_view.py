# exercise: rotary
# WRONG: x.view: refuses what split_heads gives, a transposed tensor
# SAYS: `view` needs the numbers in memory in the order of the shape; what split_heads gives is transposed. Use reshape, or slices.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    frequencies = base ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
    angles = (positions.unsqueeze(-1) * frequencies).unsqueeze(-3)
    cos, sin = angles.cos(), angles.sin()
    pairs = x.view(-1, 2, half).view(*x.shape[:-1], 2, half)
    first, second = pairs[..., 0, :], pairs[..., 1, :]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)
