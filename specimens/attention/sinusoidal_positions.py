# Versions of sinusoidal_positions, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_sinusoids_complex
# RIGHT: powers of one complex number for each pair
import torch


def sinusoidal_positions(T, D):
    rates = 10000.0 ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    turns = torch.polar(torch.ones(T, len(rates), dtype=torch.float64), torch.arange(T)[:, None] * rates)
    pairs = torch.view_as_real(turns).flip(-1)
    return pairs.reshape(T, D).to(torch.float32)


# %% right_sinusoids_exp_log
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


# %% right_sinusoids_loops
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


# %% right_sinusoids_numpy
# RIGHT: numpy in float64, the cosine as a sine shifted by a quarter turn, float32 at the end
import numpy as np
import torch


def sinusoidal_positions(T, D):
    columns = np.arange(D)
    angles = np.arange(T)[:, None] / 10000.0 ** (2 * (columns // 2) / D)
    return torch.from_numpy(np.sin(angles + (columns % 2) * np.pi / 2)).float()


# %% wrong_sinusoidal_positions_degrees_wrap
# WRONG: angles folded by a rounded 2 pi (6.28), drifts for long texts
# SAYS: Angles are folded by 6.28, a rounded 2 pi, and drift in long texts: sin and cos need no folding.
def sinusoidal_positions(T, D):
    a = torch.arange(T)[:, None] / 10000 ** (torch.arange(0, D, 2) / D)
    a = a % 6.2832
    return torch.stack((a.sin(), a.cos()), -1).flatten(1)


# %% wrong_sinusoidal_positions_half_positions
# WRONG: positions kept in float16: beyond 2048 they are rounded
# SAYS: Positions are float16, which rounds them beyond 2,048: use float32.
def sinusoidal_positions(T, D):
    t = torch.arange(T).half().float()[:, None]
    a = t / 10000 ** (torch.arange(0, D, 2) / D)
    return torch.stack((a.sin(), a.cos()), -1).flatten(1)


# %% wrong_sinusoids_base_1000
# WRONG: 1000 instead of 10000
# SAYS: The base is 1000: it is 10000.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 1000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% wrong_sinusoids_batch_dimension
# WRONG: an extra dimension in front
# SAYS: The table has an extra dimension in front: it is (T, D).
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)[None]


# %% wrong_sinusoids_buffer10000
# WRONG: cut from a table of 10,000 positions: too small for a longer text
def sinusoidal_positions(T, D):
    frequencies = 10000.0 ** (-torch.arange(0, D, 2) / D)
    angles = torch.arange(10_000)[:, None] * frequencies
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)[:T]


# %% wrong_sinusoids_ends_at_base
# WRONG: frequencies spread so that the last pair has exactly 1/10000
# SAYS: The frequencies are spread so that the last is 1/10000: the exponent of pair i is 2i/D.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** -torch.linspace(0, 1, D // 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% wrong_sinusoids_exponent_twice
# WRONG: the exponent is 2 times the even column's number over D
# SAYS: The exponent is twice too large: 2i is the even column's number already.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-2 * torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% wrong_sinusoids_exponent_without_two
# WRONG: the exponent is i/D for pair i
# SAYS: The exponent is i/D for pair i: it is 2i/D.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(D // 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% wrong_sinusoids_faster_and_faster
# WRONG: the position is multiplied by the power instead of divided
# SAYS: The position is multiplied by the power: divide by it, later pairs turn more slowly.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% wrong_sinusoids_float64
# WRONG: returns float64
# SAYS: The table is float64: it should be float32.
def sinusoidal_positions(T, D):
    angles = torch.arange(T).double()[:, None] * 10000.0 ** (-torch.arange(0, D, 2).double() / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% wrong_sinusoids_from_one
# WRONG: positions count from 1
# SAYS: Positions count from 1: row 0 is position 0.
def sinusoidal_positions(T, D):
    angles = torch.arange(1, T + 1)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% wrong_sinusoids_half_precision
# WRONG: angles in bfloat16, so that far positions are lost
# SAYS: The angles are bfloat16, which rounds far positions together: compute them in float32.
def sinusoidal_positions(T, D):
    rates = (10000.0 ** (-torch.arange(0, D, 2) / D)).bfloat16()
    angles = torch.arange(T).bfloat16()[:, None] * rates
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).float()


# %% wrong_sinusoids_halves
# WRONG: all sines first, then all cosines
# SAYS: All sines come first and then all cosines: they alternate, column by column.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


# %% wrong_sinusoids_integer_division
# WRONG: the exponent is divided without its fraction
# SAYS: The exponent is divided without its fraction: use /, not //.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-(torch.arange(0, D, 2) // D))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% wrong_sinusoids_one_frequency
# WRONG: every pair turns at the same speed
# SAYS: Every pair turns at the same speed: pair i is divided by 10000^(2i/D).
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * torch.ones(D // 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% wrong_sinusoids_only_sines
# WRONG: sines in both columns of a pair
# SAYS: Both columns of a pair hold sines: the odd one holds the cosine.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.sin()), dim=-1).flatten(1)


# %% wrong_sinusoids_own_exponent_each_column
# WRONG: the odd column uses its own number, so a pair has two frequencies
# SAYS: The odd column has a frequency of its own: both columns of a pair share one.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(D) / D)
    even = torch.arange(D) % 2 == 0
    return torch.where(even, angles.sin(), angles.cos())


# %% wrong_sinusoids_share_of_length
# WRONG: positions as a share of the length, so a row depends on T
# SAYS: Positions are a share of the length: a row must not depend on T.
def sinusoidal_positions(T, D):
    angles = torch.linspace(0, T, T)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% wrong_sinusoids_swapped
# WRONG: cosine at even columns, sine at odd ones
# SAYS: Cosines are in the even columns: sines belong there.
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.stack((angles.cos(), angles.sin()), dim=-1).flatten(1)


# %% wrong_sinusoids_transposed
# WRONG: dimensions are rows, positions are columns
# SAYS: Dimensions are rows: positions are rows, (T, D).
def sinusoidal_positions(T, D):
    angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).T.contiguous()


# %% wrong_sinusoids_wide
# WRONG: columns beyond 64 repeat the first ones
def sinusoidal_positions(T, D):
    frequencies = 10000.0 ** (-(torch.arange(0, D, 2) % 64) / D)
    angles = torch.arange(T)[:, None] * frequencies
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
