# exercise: sinusoidal_positions
# WRONG: frequencies spread so that the last pair has exactly 1/10000
# SAYS: The frequencies are spread so that the last is 1/10000: the exponent of pair i is 2i/D.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** -torch.linspace(0, 1, D // 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
