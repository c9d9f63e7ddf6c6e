# exercise: sinusoidal_positions
# WRONG: cut from a table of 10,000 positions: too small for a longer text
def sinusoidal_positions(T, D):
    frequencies = 10000.0 ** (-torch.arange(0, D, 2) / D)
    angles = torch.arange(10_000)[:, None] * frequencies
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)[:T]
