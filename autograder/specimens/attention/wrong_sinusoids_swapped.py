# exercise: sinusoidal_positions
# WRONG: cosine at even columns, sine at odd ones
# SAYS: Cosines stand at even columns: sines do.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.stack((angles.cos(), angles.sin()), dim=-1).flatten(1)
