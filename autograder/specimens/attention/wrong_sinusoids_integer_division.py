# exercise: sinusoidal_positions
# WRONG: the exponent is divided without its fraction
# SAYS: The exponent is divided without its fraction: use /, not //.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-(torch.arange(0, D, 2) // D))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
