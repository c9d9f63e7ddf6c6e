# exercise: rotary
# RIGHT: one pair at a time, into a copy
import math

import torch


def rotary(x, positions, base=10000.0):
    B, H, T, Dh = x.shape
    out = x.clone()
    rows = positions.expand(B, T) if positions.dim() == 1 else positions
    for b in range(B):
        for t in range(T):
            p = int(rows[b, t])
            for j in range(Dh // 2):
                angle = p / math.pow(base, 2 * j / Dh)
                a, c = x[b, :, t, j], x[b, :, t, j + Dh // 2]
                out[b, :, t, j] = a * math.cos(angle) - c * math.sin(angle)
                out[b, :, t, j + Dh // 2] = a * math.sin(angle) + c * math.cos(angle)
    return out
