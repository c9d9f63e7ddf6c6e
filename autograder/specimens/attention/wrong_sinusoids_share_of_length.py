# exercise: sinusoidal_positions
# WRONG: positions as a share of the length, so a row depends on T
# SAYS: Positions are a share of the length: a row must not depend on T.
def sinusoidal_positions(T, D):
    angles = torch.linspace(0, T, T)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
