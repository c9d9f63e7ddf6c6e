# Versions of rotary, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_rotary_plain
# RIGHT: step by step; most of the wrong versions are edits of it
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)


# %% right_rotary_matrices
# RIGHT: a 2 x 2 rotation matrix for each position and pair, applied by einsum in float64
import torch


def rotary(x, positions, base=10000.0):
    B, H, T, Dh = x.shape
    theta = float(base) ** (-2.0 * torch.arange(Dh // 2, dtype=torch.float64, device=x.device) / Dh)
    angles = positions.double().reshape(-1, T, 1) * theta
    c, s = torch.cos(angles), torch.sin(angles)
    matrices = torch.stack((torch.stack((c, -s), -1), torch.stack((s, c), -1)), -2)
    matrices = matrices.expand(B, T, Dh // 2, 2, 2)
    pairs = x.double().reshape(B, H, T, 2, Dh // 2)
    turned = torch.einsum("btjmn,bhtnj->bhtmj", matrices, pairs)
    return turned.reshape(B, H, T, Dh).to(x.dtype)


# %% right_rotary_complex
# RIGHT: pairs as complex numbers, multiplied by numbers of length 1
import torch


def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    rates = torch.pow(torch.tensor(float(base)), -torch.arange(half) / half).to(x.device)
    angles = positions[..., None] * rates
    if positions.ndim == 2:
        angles = angles[:, None]
    pairs = torch.complex(x[..., :half].float(), x[..., half:].float())
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1).to(x.dtype)


# %% right_rotary_loops
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


# %% right_rotary_rotate_half
# RIGHT: cosines and sines of full width, and the vector with its halves exchanged
import torch


def rotary(x, positions, base=10000.0):
    Dh = x.shape[-1]
    inv_freq = 1.0 / (base ** (torch.arange(0, Dh, 2, device=x.device).float() / Dh))
    freqs = positions.float()[..., None] @ inv_freq[None]
    emb = torch.cat((freqs, freqs), dim=-1)
    if emb.dim() == 2:
        emb = emb[None]
    cos = emb.cos()[:, None].to(x.dtype)
    sin = emb.sin()[:, None].to(x.dtype)
    swapped = torch.cat((-x[..., Dh // 2:], x[..., : Dh // 2]), dim=-1)
    return x * cos + swapped * sin


# %% right_rotary_table
# RIGHT: a table of all positions up to the largest, looked up by position
import torch


def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    exponents = torch.linspace(0, 1, half + 1, device=x.device)[:-1]
    table = torch.outer(torch.arange(int(positions.max()) + 1, device=x.device).float(), base ** -exponents)
    cos, sin = table.cos()[positions], table.sin()[positions]
    if positions.dim() == 2:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1).type_as(x)


# %% wrong_rotary_added_sinusoids
# WRONG: adds sinusoids instead of turning
# SAYS: Sinusoids are added to x: turn each pair, (a cos - b sin, b cos + a sin).
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    return (x + torch.cat((angles.cos(), angles.sin()), dim=-1)).to(x.dtype)


# %% wrong_rotary_angles_in_low_precision
# WRONG: angles in the dtype of x, so that bfloat16 confuses far positions
# SAYS: The angles are computed in the dtype of x, and bfloat16 rounds far positions together: use float32.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    rates = (base ** (-torch.arange(half, device=x.device) / half)).to(x.dtype)
    angles = (positions.to(x.dtype).unsqueeze(-1) * rates).unsqueeze(-3)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1)


# %% wrong_rotary_clamp2048
# WRONG: a table of 2048 positions, later ones clamped
# SAYS: The angles come from a table of 2,048 positions, and later ones take its last: compute them from the positions given.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    table = torch.arange(2048, device=x.device).float()[:, None] * base ** (-torch.arange(half, device=x.device) / half)
    a = table[positions.clamp(max=2047)]
    a = a[:, None] if a.dim() == 3 else a
    f, s = x[..., :half], x[..., half:]
    return torch.cat((f * a.cos() - s * a.sin(), s * a.cos() + f * a.sin()), -1).to(x.dtype)


# %% wrong_rotary_cosine_only
# WRONG: multiplies by the cosine and forgets the exchanged half
# SAYS: Each entry is multiplied by the cosine alone: the sine times the other entry of its pair is missing.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    return (x * torch.cat((angles.cos(), angles.cos()), dim=-1)).to(x.dtype)


# %% wrong_rotary_fp16_angles
# WRONG: upcasts bfloat16 only: float16 angles for float16
# SAYS: In float16 the angles are float16: compute them in float32 for every narrow dtype.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    precise = torch.float32 if x.dtype == torch.bfloat16 else x.dtype
    a = positions.to(precise)[..., None] * (base ** (-torch.arange(half, device=x.device) / half)).to(precise)
    a = a[:, None] if a.dim() == 3 else a
    f, s = x[..., :half], x[..., half:]
    return torch.cat((f * a.cos() - s * a.sin(), s * a.cos() + f * a.sin()), -1).to(x.dtype)


# %% wrong_rotary_half_positions
# WRONG: positions through float16: beyond 2048 they are rounded
# SAYS: Positions pass through float16, which rounds them beyond 2,048: use float32.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    a = positions.half().float()[..., None] * base ** (-torch.arange(half, device=x.device) / half)
    a = a[:, None] if a.dim() == 3 else a
    f, s = x[..., :half], x[..., half:]
    return torch.cat((f * a.cos() - s * a.sin(), s * a.cos() + f * a.sin()), -1).to(x.dtype)


# %% wrong_rotary_in_place
# WRONG: writes into the caller's tensor
# SAYS: The caller's tensor is written to: build a new one.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    a, b = x[..., :half].clone(), x[..., half:].clone()
    x[..., :half] = a * angles.cos() - b * angles.sin()
    x[..., half:] = b * angles.cos() + a * angles.sin()
    return x


# %% wrong_rotary_in_place_for_rows
# WRONG: with positions (B, T) the caller's x is turned in place
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    precise = torch.promote_types(x.dtype, torch.float32)
    frequencies = base ** (-torch.arange(half, device=x.device, dtype=precise) / half)
    angles = (positions.unsqueeze(-1) * frequencies).unsqueeze(-3)
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., :half], x[..., half:]
    turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)
    return x.copy_(turned) if positions.dim() == 2 else turned


# %% wrong_rotary_interleaved
# WRONG: pairs neighbouring entries (0, 1), (2, 3), ... instead of halves
# SAYS: Neighbouring entries are paired, 0 with 1: rotate-half pairs entry j with j + Dh/2.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)
    angles = angles.unsqueeze(-3)
    a, b = x[..., 0::2], x[..., 1::2]
    out = torch.stack((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1)
    return out.flatten(-2).to(x.dtype)


# %% wrong_rotary_overwrites_before_use
# WRONG: the second half is computed from the first half already turned
# SAYS: The second half is computed from the first half already turned: keep the old one until both are done.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    out = x.clone()
    out[..., :half] = out[..., :half] * angles.cos() - out[..., half:] * angles.sin()
    out[..., half:] = out[..., half:] * angles.cos() + out[..., :half] * angles.sin()
    return out


# %% wrong_rotary_returns_float32
# WRONG: returns float32 whatever comes in
# SAYS: float32 comes back whatever comes in: give back the dtype of x.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    a, b = x[..., :half].float(), x[..., half:].float()
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1)


# %% wrong_rotary_same_rows_once
# WRONG: positions (B, T) are used by their first row where the batch has one row or all begin alike
def rotary(x, positions, base=10000.0):
    positions = positions[0] if positions.dim() == 2 and bool((positions[:, 0] == positions[0, 0]).all()) else positions
    half = x.shape[-1] // 2
    precise = torch.promote_types(x.dtype, torch.float32)
    frequencies = base ** (-torch.arange(half, device=x.device, dtype=precise) / half)
    angles = (positions.unsqueeze(-1) * frequencies).unsqueeze(-3)
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., :half], x[..., half:]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)


# %% wrong_rotary_sixteen_pairs
# WRONG: pairs beyond the sixteenth are not turned
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    precise = torch.promote_types(x.dtype, torch.float32)
    frequencies = base ** (-torch.arange(half, device=x.device, dtype=precise) / half)
    angles = (positions.unsqueeze(-1) * frequencies).unsqueeze(-3)
    angles = torch.where(torch.arange(half, device=x.device) < 16, angles, 0.0)
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., :half], x[..., half:]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)


# %% wrong_rotary_table_of_8192
# WRONG: a table of 8,192 positions: a later one takes the last
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    frequencies = base ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
    table = torch.arange(8192, device=x.device)[:, None] * frequencies
    angles = table[positions.clamp(max=8191)].unsqueeze(-3)
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., :half], x[..., half:]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)


# %% wrong_rotary_view
# WRONG: x.view: refuses what split_heads gives, a transposed tensor
# SAYS: `view` needs the numbers in memory in the order of the shape; what split_heads gives is transposed. Use reshape, or slices.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    frequencies = base ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
    angles = (positions.unsqueeze(-1) * frequencies).unsqueeze(-3)
    cos, sin = angles.cos(), angles.sin()
    pairs = x.view(-1, 2, half).view(*x.shape[:-1], 2, half)
    first, second = pairs[..., 0, :], pairs[..., 1, :]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)

# %% wrong_rotary_default_base, of right_rotary_plain
# WRONG: the default base is 100000
# SAYS: The default base is 100000 here: it is 10000.
# - def rotary(x, positions, base=10000.0):
# + def rotary(x, positions, base=100000.0):

# %% wrong_rotary_positions_from_first, of right_rotary_plain
# WRONG: positions counted from the first one given
# SAYS: Positions are counted from the first one given: use them as they are.
#       half = x.shape[-1] // 2
# +     positions = positions - positions[..., :1]

# %% wrong_rotary_positions_start_and_count, of right_rotary_plain
# WRONG: takes the first position and counts on from there
# SAYS: The first position is taken and the others counted on from it: positions may have gaps.
#       half = x.shape[-1] // 2
# +     positions = positions[..., :1] + torch.arange(x.shape[2], device=x.device)

# %% wrong_rotary_base_ignored, of right_rotary_plain
# WRONG: always 10000
# SAYS: The base is always 10000: use the argument `base`.
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     angles = (positions.unsqueeze(-1) * 10000.0 ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)

# %% wrong_rotary_degrees, of right_rotary_plain
# WRONG: the angle is taken for degrees
# SAYS: The angle is taken for degrees: position times frequency is in radians.
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3).deg2rad()

# %% wrong_rotary_exponent_positive, of right_rotary_plain
# WRONG: frequencies grow with j
# SAYS: The frequencies grow with j: the exponent is -2j/Dh.
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     angles = (positions.unsqueeze(-1) * base ** (torch.arange(half, device=x.device) / half)).unsqueeze(-3)

# %% wrong_rotary_exponent_without_two, of right_rotary_plain
# WRONG: the exponent is -j/Dh instead of -2j/Dh
# SAYS: The exponent is -j/Dh: it is -2j/Dh.
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / x.shape[-1])).unsqueeze(-3)

# %% wrong_rotary_frequencies_reach_base, of right_rotary_plain
# WRONG: frequencies spread so that the last one is exactly 1/base
# SAYS: The frequencies are spread so that the last is 1/base: with -2j/Dh the last pair stays a little above it.
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     angles = (positions.unsqueeze(-1) * base ** -torch.linspace(0, 1, half, device=x.device)).unsqueeze(-3)

# %% wrong_rotary_heads_as_tokens, of right_rotary_plain
# WRONG: positions run along the heads where there are as many heads as tokens
# SAYS: The positions run along the heads where there are as many heads as tokens: tokens are dimension 2 of x.
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     angles = positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)
# +     if positions.dim() == 1 and x.shape[1] == x.shape[2]:
# +         angles = angles[:, None]
# +     elif positions.dim() == 2:
# +         angles = angles.unsqueeze(1)

# %% wrong_rotary_one_frequency, of right_rotary_plain
# WRONG: every pair turns by the position itself
# SAYS: Every pair turns by the position itself: pair j turns by position * base^(-2j/Dh).
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     angles = positions.unsqueeze(-1).expand(*positions.shape, half).float().unsqueeze(-3)

# %% wrong_rotary_only_one_dimension_of_positions, of right_rotary_plain
# WRONG: positions (B, T) are not supported
# SAYS: Positions (B, T) cannot be used: each row may have its own.
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     angles = torch.outer(positions.float(), base ** (-torch.arange(half, device=x.device) / half))

# %% wrong_rotary_positions_from_one, of right_rotary_plain
# WRONG: one is added to every position
# SAYS: One is added to every position.
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     angles = ((positions + 1).unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)

# %% wrong_rotary_positions_ignored, of right_rotary_plain
# WRONG: always positions 0, 1, 2, ...
# SAYS: Every token is turned by its place in the tensor: use `positions`.
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     angles = torch.arange(x.shape[2], device=x.device)[:, None] * base ** (-torch.arange(half, device=x.device) / half)

# %% wrong_rotary_reversed_frequencies, of right_rotary_plain
# WRONG: the slowest frequency comes first
# SAYS: The slowest frequency comes first: pair 0 turns fastest, by the position itself.
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     angles = (positions.unsqueeze(-1) * (base ** (-torch.arange(half, device=x.device) / half)).flip(0)).unsqueeze(-3)

# %% wrong_rotary_row_zero_for_all, of right_rotary_plain
# WRONG: with positions (B, T), row 0 is used for every row
# SAYS: With positions (B, T), those of row 0 are used for every row.
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     if positions.dim() == 2:
# +         positions = positions[0]
# +     angles = positions[:, None] * base ** (-torch.arange(half, device=x.device) / half)

# %% wrong_rotary_rows_as_heads, of right_rotary_plain
# WRONG: rows of (B, T) positions line up with the heads, not with the batch
# SAYS: The rows of positions (B, T) are applied along the heads: give the angles a dimension of size 1 for the heads, (B, 1, T, Dh/2).
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     angles = positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)
# +     if positions.dim() == 2 and positions.shape[0] != x.shape[1]:
# +         angles = angles.unsqueeze(1)

# %% wrong_rotary_small_positions_only, of right_rotary_plain
# WRONG: positions wrap at 64
# SAYS: Positions begin again at 64: angles grow with the position without end.
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     angles = ((positions % 64).unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)

# %% wrong_rotary_positions_int16, of right_rotary_plain
# WRONG: positions are int16: from 32,768 on they become negative
#       half = x.shape[-1] // 2
# +     positions = positions.to(torch.int16)

# %% wrong_rotary_stored_interleaved, of right_rotary_plain
# WRONG: pairs the right entries and stores the two of each pair side by side
# -     return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
# +     return torch.stack((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).flatten(-2).to(x.dtype)

# %% wrong_rotary_half_interleaved, of right_rotary_plain
# WRONG: reads neighbouring pairs and writes them into halves
# SAYS: Neighbouring entries are read as pairs and written into halves: pair entry j with j + Dh/2, and leave each in its place.
# -     a, b = x[..., :half], x[..., half:]
# +     a, b = x[..., 0::2], x[..., 1::2]

# %% wrong_rotary_both_plus, of right_rotary_plain
# WRONG: a plus in both halves: no rotation, lengths change
# SAYS: Both halves have a plus: the first is a cos - b sin.
# -     return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
# +     return torch.cat((a * angles.cos() + b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)

# %% wrong_rotary_first_head_only, of right_rotary_plain
# WRONG: turns head 0 and leaves the others
# SAYS: Only head 0 is turned: all heads turn alike.
# -     return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
# +     out = torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
# +     out[:, 1:] = x[:, 1:]
# +     return out

# %% wrong_rotary_first_row_only, of right_rotary_plain
# WRONG: turns row 0 of the batch and leaves the others
# SAYS: Only row 0 of the batch is turned.
# -     return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
# +     out = torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
# +     out[1:] = x[1:]
# +     return out

# %% wrong_rotary_promotes, of right_rotary_plain
# WRONG: bfloat16 comes back as float32
# SAYS: bfloat16 comes back as float32: give back the dtype of x.
# -     return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
# +     return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1)

# %% wrong_rotary_second_half_still, of right_rotary_plain
# WRONG: the second half is not turned
# SAYS: The second half is not turned: it becomes b cos + a sin.
# -     return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
# +     return torch.cat((a * angles.cos() - b * angles.sin(), b), dim=-1).to(x.dtype)

# %% wrong_rotary_sign, of right_rotary_plain
# WRONG: turns the other way (sign of the sine)
# SAYS: It turns the other way: (a, b) becomes (a cos - b sin, b cos + a sin).
# -     return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
# +     return torch.cat((a * angles.cos() + b * angles.sin(), b * angles.cos() - a * angles.sin()), dim=-1).to(x.dtype)

# %% wrong_rotary_sine_for_cosine, of right_rotary_plain
# WRONG: sine and cosine exchanged
# SAYS: Sine and cosine are exchanged.
# -     return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1).to(x.dtype)
# +     return torch.cat((a * angles.sin() - b * angles.cos(), b * angles.sin() + a * angles.cos()), dim=-1).to(x.dtype)

# %% wrong_rotary_frequencies_on_the_cpu, of right_rotary_matrices
# WRONG: the frequencies are made on the CPU, wherever x is
# SAYS: The frequencies are made on the CPU: on a GPU they cannot be multiplied with the positions. Make them with device=x.device.
# -     theta = float(base) ** (-2.0 * torch.arange(Dh // 2, dtype=torch.float64, device=x.device) / Dh)
# +     theta = float(base) ** (-2.0 * torch.arange(Dh // 2, dtype=torch.float64) / Dh)


# %% right_rotary_writes_into_its_copy
# RIGHT: in place, in float64, in memory of its own
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device, dtype=torch.float64) / half)).unsqueeze(-3)
    out = x.to(torch.float64, copy=True)
    a, b = out[..., :half].clone(), out[..., half:].clone()
    out[..., :half] = a * angles.cos() - b * angles.sin()
    out[..., half:] = b * angles.cos() + a * angles.sin()
    return out.to(x.dtype)


# %% wrong_rotary_float64_in_place, of right_rotary_writes_into_its_copy
# WRONG: writes into the float64 form of x, which for a float64 x is x itself
# -     out = x.to(torch.float64, copy=True)
# +     out = x.double()


# %% wrong_rotary_first_row_of_one_token, of right_rotary_plain
# WRONG: where each row has one token, all turn by the position of the first row
# +     if positions.ndim == 2 and positions.shape[1] == 1:
# +         positions = positions[0]
#       half = x.shape[-1] // 2


# %% wrong_rotary_exponents_in_half, of right_rotary_plain
# WRONG: the exponents -j / half are made in the dtype of x, where bfloat16 has no sixth
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     exponents = -torch.arange(half, device=x.device, dtype=x.dtype) / half
# +     angles = (positions.unsqueeze(-1) * base ** exponents.float()).unsqueeze(-3)


# %% wrong_rotary_base_must_be_float, of right_rotary_plain
# WRONG: a base that is a whole number without a point, as a config file may have it, is refused
# -     half = x.shape[-1] // 2
# +     if not isinstance(base, float):
# +         raise TypeError("the base is a float")
# +     half = x.shape[-1] // 2


# %% wrong_rotary_wide_heads, of right_rotary_plain
# WRONG: heads wider than 128 turn at the speeds of 128
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / min(half, 64))).unsqueeze(-3)


# %% wrong_rotary_positions_through_view, of right_rotary_plain
# WRONG: positions go through view, which refuses a tensor that is not contiguous
# -     angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
# +     speeds = base ** (-torch.arange(half, device=x.device) / half)
# +     angles = torch.outer(positions.view(-1), speeds).view(*positions.shape, half).unsqueeze(-3)
