# Versions of dequantize, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_dequantize_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def dequantize(q, scale, minimum=None):
    x = q.to(torch.float32) * scale.to(torch.float32)
    if minimum is not None:
        x = x + minimum.to(torch.float32)
    return x


# %% right_dequantize_float64
# RIGHT: in float64, cast at the end

def dequantize(q, scale, minimum=None):
    offset = 0.0 if minimum is None else minimum.double()
    return (q.double() * scale.double() + offset).float()


# %% right_dequantize_in_place
# RIGHT: in place on its own copy

def dequantize(q, scale, minimum=None):
    x = q.float()
    x.mul_(scale)
    if minimum is not None:
        x.add_(minimum)
    return x


# %% wrong_dequantize_minimum_subtracted, of right_dequantize_plain
# WRONG: subtracts the minimum
# -         x = x + minimum.to(torch.float32)
# +         x = x - minimum.to(torch.float32)

# %% wrong_dequantize_no_minimum, of right_dequantize_plain
# WRONG: leaves the minimum out
# -         x = x + minimum.to(torch.float32)
# +         x = x + 0.0

# %% wrong_dequantize_zero_point, of right_dequantize_plain
# WRONG: takes the minimum for a zero point: scale * (q - minimum)
# -         x = x + minimum.to(torch.float32)
# +         x = (q.to(torch.float32) - minimum.to(torch.float32)) * scale.to(torch.float32)

# %% wrong_dequantize_minimum_scaled, of right_dequantize_plain
# WRONG: scales the minimum too
# -         x = x + minimum.to(torch.float32)
# +         x = x + minimum.to(torch.float32) * scale.to(torch.float32)

# %% wrong_dequantize_exchanged, of right_dequantize_plain
# WRONG: takes the scale for the minimum and the minimum for the scale
# -         x = x + minimum.to(torch.float32)
# +         x = q.to(torch.float32) * minimum.to(torch.float32) + scale.to(torch.float32)

# %% wrong_dequantize_divides, of right_dequantize_plain
# WRONG: divides by the scale
# -     x = q.to(torch.float32) * scale.to(torch.float32)
# +     x = q.to(torch.float32) / scale.to(torch.float32)

# %% wrong_dequantize_signed, of right_dequantize_plain
# WRONG: reads q as signed, so that 128 and more are below 0
# -     x = q.to(torch.float32) * scale.to(torch.float32)
# +     x = q.view(torch.int8).to(torch.float32) * scale.to(torch.float32)

# %% wrong_dequantize_unsigned, of right_dequantize_plain
# WRONG: reads q as unsigned, so that nothing is below 0
# -     x = q.to(torch.float32) * scale.to(torch.float32)
# +     x = q.view(torch.uint8).to(torch.float32) * scale.to(torch.float32)

# %% wrong_dequantize_dtype_of_scale, of right_dequantize_plain
# WRONG: works in the dtype of the scale, which may be float16
# -     x = q.to(torch.float32) * scale.to(torch.float32)
# +     x = q * scale
# ...
# -         x = x + minimum.to(torch.float32)
# +         x = x + minimum

# %% wrong_dequantize_float16, of right_dequantize_plain
# WRONG: multiplies in float16 and casts the result
# -     x = q.to(torch.float32) * scale.to(torch.float32)
# +     x = (q * scale.half()).float()

# %% wrong_dequantize_first_scale, of right_dequantize_plain
# WRONG: the first group's scale for all
# -     x = q.to(torch.float32) * scale.to(torch.float32)
# +     x = q.to(torch.float32) * scale.to(torch.float32).flatten()[0]

# %% wrong_dequantize_float64_back, of right_dequantize_plain
# WRONG: gives float64
# -     return x
# +     return x.double()

# %% wrong_dequantize_view, of right_dequantize_plain
# WRONG: the rows by view, which q that is not contiguous does not allow
# -     x = q.to(torch.float32) * scale.to(torch.float32)
# +     x = q.view(-1, q.shape[-1]).to(torch.float32).view(q.shape) * scale.to(torch.float32)


# %% wrong_dequantize_minus_128, of right_dequantize_plain
# WRONG: -128 is taken for -127
# -     x = q.to(torch.float32) * scale.to(torch.float32)
# +     x = q.to(torch.float32).clamp(min=-127) * scale.to(torch.float32)
