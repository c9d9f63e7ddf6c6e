# exercise: sinusoidal_positions
# WRONG: 1000 instead of 10000
# SAYS: The base is 1000: it is 10000.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 1000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
