# exercise: sinusoidal_positions
# WRONG: all sines first, then all cosines
# SAYS: All sines stand first and then all cosines: they alternate, column by column.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.cat((angles.sin(), angles.cos()), dim=-1)
