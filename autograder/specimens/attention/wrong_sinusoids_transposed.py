# exercise: sinusoidal_positions
# WRONG: dimensions are rows, positions are columns
# SAYS: Dimensions are rows: positions are rows, (T, D).
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).T.contiguous()
