# exercise: sinusoidal_positions
# WRONG: angles folded by a rounded 2 pi (6.28), drifts for long texts
# SAYS: Angles are folded by 6.28, a rounded 2 pi, and drift in long texts: sin and cos need no folding.
def sinusoidal_positions(T, D):
    a = torch.arange(T)[:, None] / 10000 ** (torch.arange(0, D, 2) / D)
    a = a % 6.2832
    return torch.stack((a.sin(), a.cos()), -1).flatten(1)
