# exercise: sinusoidal_positions
# WRONG: angles in bfloat16, so that far positions are lost
# SAYS: The angles are bfloat16, which rounds far positions together: compute them in float32.
def sinusoidal_positions(T, D):
    rates = (10000.0 ** (-torch.arange(0, D, 2) / D)).bfloat16()
    angles = torch.arange(T).bfloat16()[:, None] * rates
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).float()
