# exercise: sinusoidal_positions
# RIGHT: powers of one complex number for each pair
import torch


def sinusoidal_positions(T, D):
    rates = 10000.0 ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    turns = torch.polar(torch.ones(T, len(rates), dtype=torch.float64), torch.arange(T)[:, None] * rates)
    pairs = torch.view_as_real(turns).flip(-1)
    return pairs.reshape(T, D).to(torch.float32)
