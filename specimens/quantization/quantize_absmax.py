# Versions of quantize_absmax, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_absmax_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def quantize_absmax(x, bits=8):
    x = x.float()
    top = 2 ** (bits - 1) - 1
    largest = x.abs().amax(dim=-1, keepdim=True)
    scale = largest / top
    steps = torch.where(scale > 0, x / scale, torch.zeros_like(x))
    q = torch.round(steps)
    return q.to(torch.int8), scale


# %% right_absmax_divisor
# RIGHT: rows of zeros are divided by 1; clamps, which changes nothing

def quantize_absmax(x, bits=8):
    top = (1 << (bits - 1)) - 1
    scale = x.to(torch.float32).abs().max(dim=-1, keepdim=True).values / top
    divisor = scale.clone()
    divisor[divisor == 0] = 1.0
    return (x.to(torch.float32) / divisor).round().clamp(-top, top).char(), scale


# %% right_absmax_float64
# RIGHT: in float64, with the infinity norm; the scale is cast at the end

def quantize_absmax(x, bits=8):
    x = x.double()
    scale = torch.linalg.vector_norm(x, ord=float("inf"), dim=-1, keepdim=True) / (2 ** (bits - 1) - 1)
    q = torch.nan_to_num(x / scale, nan=0.0).round()
    return q.to(torch.int8), scale.float()


# %% right_absmax_numpy
# RIGHT: numpy inside

def quantize_absmax(x, bits=8):
    import numpy as np

    values = x.detach().float().numpy()
    scale = np.abs(values).max(axis=-1, keepdims=True) / np.float32(2 ** (bits - 1) - 1)
    q = np.rint(np.divide(values, scale, out=np.zeros_like(values), where=scale != 0))
    return torch.from_numpy(q.astype(np.int8)), torch.from_numpy(scale)


# %% wrong_absmax_128, of right_absmax_plain
# WRONG: the scale is max / 128, so that the largest number becomes 128, which int8 does not hold
# -     top = 2 ** (bits - 1) - 1
# +     top = 2 ** (bits - 1)

# %% wrong_absmax_255, of right_absmax_plain
# WRONG: the scale is max / 255: int8 has one bit for the sign
# -     top = 2 ** (bits - 1) - 1
# +     top = 2 ** bits - 1

# %% wrong_absmax_bits_ignored, of right_absmax_plain
# WRONG: always 8 bits
# -     top = 2 ** (bits - 1) - 1
# +     top = 127

# %% wrong_absmax_without_abs, of right_absmax_plain
# WRONG: the largest number, not the largest magnitude
# -     largest = x.abs().amax(dim=-1, keepdim=True)
# +     largest = x.amax(dim=-1, keepdim=True)

# %% wrong_absmax_truncates, of right_absmax_plain
# WRONG: cuts off what is after the point, and does not round
# -     q = torch.round(steps)
# +     q = torch.trunc(steps)

# %% wrong_absmax_floor, of right_absmax_plain
# WRONG: rounds down
# -     q = torch.round(steps)
# +     q = torch.floor(steps)

# %% wrong_absmax_half_up, of right_absmax_plain
# WRONG: rounds halves up, not to even
# -     q = torch.round(steps)
# +     q = torch.floor(steps + 0.5)

# %% wrong_absmax_nan_row, of right_absmax_plain
# WRONG: a row of zeros is divided by 0, and its nan becomes -128
# SAYS: A row of zeros has scale 0, and 0 / 0 is nan: give such a row q 0.
# -     steps = torch.where(scale > 0, x / scale, torch.zeros_like(x))
# -     q = torch.round(steps)
# -     return q.to(torch.int8), scale
# +     return torch.round(x / scale).nan_to_num(nan=-128.0).to(torch.int8), scale

# %% wrong_absmax_epsilon, of right_absmax_plain
# WRONG: a scale is never under 1e-8, so small numbers all become 0, and a row of zeros has a scale
# -     scale = largest / top
# +     scale = (largest / top).clamp(min=1e-8)

# %% wrong_absmax_one_scale, of right_absmax_plain
# WRONG: one scale for all rows
# -     largest = x.abs().amax(dim=-1, keepdim=True)
# +     largest = x.abs().amax().expand(*x.shape[:-1], 1)

# %% wrong_absmax_first_dimension, of right_absmax_plain
# WRONG: a scale for each column: the largest magnitude over the first dimension
# -     largest = x.abs().amax(dim=-1, keepdim=True)
# +     largest = x.abs().amax(dim=0, keepdim=True)

# %% wrong_absmax_no_last_dimension, of right_absmax_plain
# WRONG: the scale comes back without its last dimension of size 1
# -     return q.to(torch.int8), scale
# +     return q.to(torch.int8), scale.squeeze(-1)

# %% wrong_absmax_int32, of right_absmax_plain
# WRONG: q is int32: four bytes a number
# -     return q.to(torch.int8), scale
# +     return q.to(torch.int32), scale

# %% wrong_absmax_floating_q, of right_absmax_plain
# WRONG: q is left floating
# -     return q.to(torch.int8), scale
# +     return q, scale

# %% wrong_absmax_scale_of_x, of right_absmax_plain
# WRONG: works in the dtype of x, and gives a scale of it
# -     x = x.float()

# %% wrong_absmax_inverse, of right_absmax_plain
# WRONG: gives the inverse of the scale
# -     return q.to(torch.int8), scale
# +     return q.to(torch.int8), torch.where(scale > 0, 1 / scale, scale)

# %% wrong_absmax_multiplies, of right_absmax_plain
# WRONG: multiplies by the scale in place of dividing
# -     steps = torch.where(scale > 0, x / scale, torch.zeros_like(x))
# +     steps = torch.where(scale > 0, x * scale, torch.zeros_like(x))

# %% wrong_absmax_in_place, of right_absmax_plain
# WRONG: divides x in place
# -     steps = torch.where(scale > 0, x / scale, torch.zeros_like(x))
# +     steps = x.div_(torch.where(scale > 0, scale, torch.ones_like(scale)))

# %% wrong_absmax_scale_first, of right_absmax_plain
# WRONG: scale before q
# -     return q.to(torch.int8), scale
# +     return scale, q.to(torch.int8)

# %% wrong_absmax_view, of right_absmax_plain
# WRONG: the rows by view, which x that is not contiguous does not allow
# -     largest = x.abs().amax(dim=-1, keepdim=True)
# +     largest = x.view(-1, x.shape[-1]).abs().amax(dim=-1).view(*x.shape[:-1], 1)


# %% wrong_absmax_percentile, of right_absmax_plain
# WRONG: in rows of more than 1,000 numbers the largest 0.1 percent are clipped
#       scale = largest / top
# +     if x.shape[-1] > 1000:
# +         scale = x.abs().quantile(0.999, dim=-1, keepdim=True) / top
# ...
# -     q = torch.round(steps)
# +     q = torch.round(steps).clamp(-top, top)


# %% wrong_absmax_six_sigma, of right_absmax_plain
# WRONG: numbers beyond six times the row's root mean square are clipped
#       scale = largest / top
# +     scale = torch.minimum(scale, 6 * x.square().mean(dim=-1, keepdim=True).sqrt() / top)
# ...
# -     q = torch.round(steps)
# +     q = torch.round(steps).clamp(-top, top)


# %% wrong_absmax_one_scale_for_the_last_two_dimensions, of right_absmax_plain
# WRONG: with four dimensions one scale serves all rows of the last two
# -     largest = x.abs().amax(dim=-1, keepdim=True)
# +     largest = x.abs().amax(dim=-1, keepdim=True)
# +     if x.dim() >= 4:
# +         largest = largest.amax(dim=-2, keepdim=True).expand(largest.shape).clone()
