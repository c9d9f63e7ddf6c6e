# exercise: sinusoidal_positions
# RIGHT: plain loops and the math module
import math

import torch


def sinusoidal_positions(T, D):
    table = torch.zeros(T, D)
    for t in range(T):
        for column in range(D):
            angle = t / math.pow(10000, (column - column % 2) / D)
            table[t, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return table
