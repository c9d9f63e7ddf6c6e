# exercise: rotary
# WRONG: adds sinusoids instead of turning
# SAYS: Sinusoids are added to x: turn each pair, (a cos - b sin, b cos + a sin).
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    return (x + torch.cat((angles.cos(), angles.sin()), dim=-1)).to(x.dtype)
