# exercise: sinusoidal_positions
# WRONG: the position is multiplied by the power instead of divided
# SAYS: The position is multiplied by the power: divide by it, later pairs turn more slowly.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
