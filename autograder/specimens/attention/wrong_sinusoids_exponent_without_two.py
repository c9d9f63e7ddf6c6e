# exercise: sinusoidal_positions
# WRONG: the exponent is i/D for pair i
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(D // 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
