# exercise: sinusoidal_positions
# WRONG: the odd column uses its own number, so a pair has two frequencies
# SAYS: The odd column has a frequency of its own: both columns of a pair share one.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(D) / D)
    even = torch.arange(D) % 2 == 0
    return torch.where(even, angles.sin(), angles.cos())
