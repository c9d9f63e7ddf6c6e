# exercise: sinusoidal_positions
# WRONG: the exponent is i/D for pair i
# SAYS: The exponent is i/D for pair i: it is 2i/D.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(D // 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
