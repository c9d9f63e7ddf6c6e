# Versions of quantize_affine, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_affine_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def quantize_affine(x, bits=8):
    x = x.float()
    top = 2**bits - 1
    low = x.amin(dim=-1, keepdim=True)
    high = x.amax(dim=-1, keepdim=True)
    scale = (high - low) / top
    steps = torch.where(scale > 0, (x - low) / scale, torch.zeros_like(x))
    q = torch.round(steps)
    return q.to(torch.uint8), scale, low


# %% right_affine_divisor
# RIGHT: rows of equal numbers are divided by 1; clamps, which changes nothing

def quantize_affine(x, bits=8):
    levels = 1 << bits
    values = x.to(torch.float32)
    low, high = values.min(-1, keepdim=True).values, values.max(-1, keepdim=True).values
    scale = (high - low).div(levels - 1)
    divisor = scale.masked_fill(scale == 0, 1.0)
    return ((values - low) / divisor).round().clamp(0, levels - 1).byte(), scale, low


# %% right_affine_float64
# RIGHT: in float64, cast at the end

def quantize_affine(x, bits=8):
    x = x.double()
    low, high = torch.aminmax(x, dim=-1, keepdim=True)
    scale = (high - low) / (2**bits - 1)
    q = torch.nan_to_num((x - low) / scale, nan=0.0).round()
    return q.to(torch.uint8), scale.float(), low.float()


# %% right_affine_flat_rows
# RIGHT: all leading dimensions as one, row by row

def quantize_affine(x, bits=8):
    flat = x.float().reshape(-1, x.shape[-1])
    q = torch.zeros(flat.shape, dtype=torch.uint8)
    scale, minimum = torch.zeros(len(flat), 1), torch.zeros(len(flat), 1)
    for i, row in enumerate(flat):
        minimum[i] = row.min()
        scale[i] = (row.max() - row.min()) / (2**bits - 1)
        if scale[i] > 0:
            q[i] = ((row - row.min()) / scale[i]).round()
    shape = x.shape[:-1]
    return q.reshape(x.shape), scale.reshape(*shape, 1), minimum.reshape(*shape, 1)


# %% wrong_affine_2_to_the_bits, of right_affine_plain
# WRONG: the interval is cut into 2^bits steps, so that the largest number becomes 256, which uint8 does not hold
# -     top = 2**bits - 1
# +     top = 2**bits

# %% wrong_affine_127, of right_affine_plain
# WRONG: half of the numbers are left unused: the scale is that of signed numbers
# -     top = 2**bits - 1
# +     top = 2 ** max(bits - 1, 1) - 1

# %% wrong_affine_bits_ignored, of right_affine_plain
# WRONG: always 8 bits
# -     top = 2**bits - 1
# +     top = 255

# %% wrong_affine_from_zero, of right_affine_plain
# WRONG: the interval is from the least to the largest magnitude
# -     high = x.amax(dim=-1, keepdim=True)
# +     high = x.abs().amax(dim=-1, keepdim=True)

# %% wrong_affine_truncates, of right_affine_plain
# WRONG: cuts off what is after the point, and does not round
# -     q = torch.round(steps)
# +     q = steps

# %% wrong_affine_half_up, of right_affine_plain
# WRONG: rounds halves up, not to even
# -     q = torch.round(steps)
# +     q = torch.floor(steps + 0.5)

# %% wrong_affine_nan_row, of right_affine_plain
# WRONG: a row of equal numbers is divided by 0, and its nan becomes 128
# SAYS: A row of equal numbers has scale 0, and 0 / 0 is nan: give such a row q 0.
# -     steps = torch.where(scale > 0, (x - low) / scale, torch.zeros_like(x))
# +     steps = ((x - low) / scale).nan_to_num(nan=128.0)

# %% wrong_affine_epsilon, of right_affine_plain
# WRONG: a scale is never under 1e-8, so that rows of equal numbers have one
# -     scale = (high - low) / top
# +     scale = ((high - low) / top).clamp(min=1e-8)

# %% wrong_affine_zero_point, of right_affine_plain
# WRONG: rounds x / scale and a zero point apart, and gives the zero point for the minimum
# -     steps = torch.where(scale > 0, (x - low) / scale, torch.zeros_like(x))
# -     q = torch.round(steps)
# -     return q.to(torch.uint8), scale, low
# +     zero = torch.where(scale > 0, (-low / scale).round(), torch.zeros_like(scale))
# +     q = torch.where(scale > 0, (x / scale).round() + zero, torch.zeros_like(x)).clamp(0, top)
# +     return q.to(torch.uint8), scale, zero

# %% wrong_affine_rounded_zero, of right_affine_plain
# WRONG: the minimum is moved to a multiple of the scale
# -     return q.to(torch.uint8), scale, low
# +     return q.to(torch.uint8), scale, torch.where(scale > 0, (low / scale).round() * scale, low)

# %% wrong_affine_one_interval, of right_affine_plain
# WRONG: one interval for all rows
# -     low = x.amin(dim=-1, keepdim=True)
# -     high = x.amax(dim=-1, keepdim=True)
# +     low = x.amin().expand(*x.shape[:-1], 1)
# +     high = x.amax().expand(*x.shape[:-1], 1)

# %% wrong_affine_first_dimension, of right_affine_plain
# WRONG: an interval for each column
# -     low = x.amin(dim=-1, keepdim=True)
# -     high = x.amax(dim=-1, keepdim=True)
# +     low = x.amin(dim=0, keepdim=True)
# +     high = x.amax(dim=0, keepdim=True)

# %% wrong_affine_signed, of right_affine_plain
# WRONG: q is int8, which ends at 127
# -     return q.to(torch.uint8), scale, low
# +     return q.to(torch.uint8).view(torch.int8), scale, low

# %% wrong_affine_maximum, of right_affine_plain
# WRONG: gives the maximum in place of the minimum
# -     return q.to(torch.uint8), scale, low
# +     return q.to(torch.uint8), scale, high

# %% wrong_affine_exchanged, of right_affine_plain
# WRONG: minimum before scale
# -     return q.to(torch.uint8), scale, low
# +     return q.to(torch.uint8), low, scale

# %% wrong_affine_dtype_of_x, of right_affine_plain
# WRONG: works in the dtype of x
# -     x = x.float()

# %% wrong_affine_in_place, of right_affine_plain
# WRONG: subtracts in place
# -     steps = torch.where(scale > 0, (x - low) / scale, torch.zeros_like(x))
# +     steps = x.sub_(low) / torch.where(scale > 0, scale, torch.ones_like(scale))

# %% wrong_affine_in_place_in_float64, of right_affine_float64
# WRONG: subtracts in place from what is x itself where x is float64
# -     q = torch.nan_to_num((x - low) / scale, nan=0.0).round()
# +     q = torch.nan_to_num(x.sub_(low) / scale, nan=0.0).round()

# %% wrong_affine_view, of right_affine_plain
# WRONG: the rows by view, which x that is not contiguous does not allow
# -     low = x.amin(dim=-1, keepdim=True)
# +     low = x.view(-1, x.shape[-1]).amin(dim=-1).view(*x.shape[:-1], 1)

# %% wrong_affine_divides_first, of right_affine_plain
# WRONG: divides x and the minimum by the scale before it subtracts: numbers far from 0 and near each other lose their steps
# -     steps = torch.where(scale > 0, (x - low) / scale, torch.zeros_like(x))
# +     steps = torch.where(scale > 0, x / scale - low / scale, torch.zeros_like(x))
# ...
# -     q = torch.round(steps)
# +     q = torch.round(steps).clamp(0, top)
