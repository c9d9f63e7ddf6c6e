# exercise: sinusoidal_positions
# RIGHT: numpy in float64, the cosine as a sine shifted by a quarter turn, float32 at the end
import numpy as np
import torch


def sinusoidal_positions(T, D):
    columns = np.arange(D)
    angles = np.arange(T)[:, None] / 10000.0 ** (2 * (columns // 2) / D)
    return torch.from_numpy(np.sin(angles + (columns % 2) * np.pi / 2)).float()
