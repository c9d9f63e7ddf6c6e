# exercise: sinusoidal_positions
# WRONG: an extra dimension in front
# SAYS: The table has an extra dimension in front: it is (T, D).
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)[None]
