# exercise: sinusoidal_positions
# WRONG: returns float64
# SAYS: The table is float64: it should be float32.
def sinusoidal_positions(T, D):
    angles = torch.arange(T).double()[:, None] * 10000.0 ** (-torch.arange(0, D, 2).double() / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
