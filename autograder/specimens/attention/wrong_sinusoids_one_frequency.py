# exercise: sinusoidal_positions
# WRONG: every pair turns at the same speed
# SAYS: Every pair turns at the same speed: pair i is divided by 10000^(2i/D).
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * torch.ones(D // 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
