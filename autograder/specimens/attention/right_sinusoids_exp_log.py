# exercise: sinusoidal_positions
# RIGHT: frequencies as exp of a logarithm, written into every second column
import math

import torch


def sinusoidal_positions(T, D):
    table = torch.empty(T, D)
    rates = torch.exp(torch.arange(0, D, 2).float() * (-math.log(10000.0) / D))
    angles = torch.outer(torch.arange(T).float(), rates)
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles)
    return table
