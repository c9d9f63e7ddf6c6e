# exercise: sinusoidal_positions
# WRONG: columns beyond 64 repeat the first ones
def sinusoidal_positions(T, D):
    frequencies = 10000.0 ** (-(torch.arange(0, D, 2) % 64) / D)
    angles = torch.arange(T)[:, None] * frequencies
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
