# exercise: sinusoidal_positions
# WRONG: the exponent is 2 times the even column's number over D
# SAYS: The exponent is twice too large: 2i is the even column's number already.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-2 * torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
