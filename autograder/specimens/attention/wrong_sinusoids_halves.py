# exercise: sinusoidal_positions
# WRONG: all sines first, then all cosines
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.cat((angles.sin(), angles.cos()), dim=-1)
