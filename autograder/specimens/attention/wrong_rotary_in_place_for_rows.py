# exercise: rotary
# WRONG: with positions (B, T) the caller's x is turned in place
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    precise = torch.promote_types(x.dtype, torch.float32)
    frequencies = base ** (-torch.arange(half, device=x.device, dtype=precise) / half)
    angles = (positions.unsqueeze(-1) * frequencies).unsqueeze(-3)
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., :half], x[..., half:]
    turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)
    return x.copy_(turned) if positions.dim() == 2 else turned
