# exercise: sinusoidal_positions
# WRONG: positions kept in float16: beyond 2048 they are rounded
# SAYS: Positions are float16, which rounds them beyond 2,048: use float32.
def sinusoidal_positions(T, D):
    t = torch.arange(T).half().float()[:, None]
    a = t / 10000 ** (torch.arange(0, D, 2) / D)
    return torch.stack((a.sin(), a.cos()), -1).flatten(1)
