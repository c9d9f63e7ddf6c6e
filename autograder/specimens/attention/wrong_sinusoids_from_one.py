# exercise: sinusoidal_positions
# WRONG: positions count from 1
# SAYS: Positions count from 1: row 0 is position 0.
def sinusoidal_positions(T, D):
    angles = torch.arange(1, T + 1)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
