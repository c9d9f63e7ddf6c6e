# exercise: sinusoidal_positions
# WRONG: sines in both columns of a pair
# SAYS: Both columns of a pair hold sines: the odd one holds the cosine.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.sin()), dim=-1).flatten(1)
