# Versions of int8_linear, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_int8_plain
# RIGHT: group by group; most of the wrong versions are edits of it

def int8_linear(x, q, scale, minimum):
    D = x.shape[-1]
    if D % 32:
        raise ValueError(f"32 does not divide D = {D}")
    xq, x_scale = quantize_absmax(x.unflatten(-1, (D // 32, 32)))
    y = torch.zeros(*x.shape[:-1], q.shape[0])
    for g in range(q.shape[1]):
        x_group = xq[..., g, :].to(torch.int32)
        dots = x_group @ q[:, g].to(torch.int32).T
        total = x_group.sum(dim=-1, keepdim=True)
        y += x_scale[..., g, :] * (scale[:, g, 0] * dots + minimum[:, g, 0] * total)
    return y


# %% right_int8_einsum
# RIGHT: all groups in one product of integers

def int8_linear(x, q, scale, minimum):
    if x.shape[-1] % 32:
        raise ValueError(f"D is {x.shape[-1]}")
    xq, x_scale = quantize_absmax(x.unflatten(-1, (-1, 32)))
    dots = torch.einsum("...gi,ogi->...og", xq.int(), q.int())
    sums = xq.sum(dim=-1).unsqueeze(-2)
    return ((dots * scale.squeeze(-1) + sums * minimum.squeeze(-1)) * x_scale.squeeze(-1).unsqueeze(-2)).sum(-1)


# %% right_int8_products_and_sums
# RIGHT: products elementwise in int32, added up in int64, for one row of the matrix at a time

def int8_linear(x, q, scale, minimum):
    if x.shape[-1] % 32 != 0:
        raise ValueError(str(x.shape[-1]) + " is no multiple of 32")
    groups = x.reshape(-1, x.shape[-1] // 32, 32)
    xq, x_scale = quantize_absmax(groups)
    xq = xq.to(torch.int32)
    y = torch.empty(len(groups), len(q))
    for row in range(len(q)):
        dots = (xq * q[row].to(torch.int32)).sum(-1)
        y[:, row] = ((dots * scale[row, :, 0] + xq.sum(-1) * minimum[row, :, 0]) * x_scale[..., 0]).sum(-1)
    return y.reshape(*x.shape[:-1], len(q))


# %% right_int8_matmul_of_bytes
# RIGHT: torch's product of int8 matrices, which adds up in int32

def int8_linear(x, q, scale, minimum):
    if x.shape[-1] % 32:
        raise ValueError(f"D = {x.shape[-1]}")
    xq, x_scale = quantize_absmax(x.reshape(-1, x.shape[-1] // 32, 32))
    y = 0.0
    for g in range(q.shape[1]):
        dots = torch._int_mm(xq[:, g].contiguous(), q[:, g].to(torch.int8).T.contiguous())
        y = y + x_scale[:, g] * (dots * scale[:, g, 0] + xq[:, g].sum(-1, keepdim=True) * minimum[:, g, 0])
    return y.reshape(*x.shape[:-1], len(q))


# %% right_int8_numpy
# RIGHT: numpy's integers inside

def int8_linear(x, q, scale, minimum):
    import numpy as np

    if x.shape[-1] % 32:
        raise ValueError(f"D must be a multiple of 32 and is {x.shape[-1]}")
    xq, x_scale = (part.numpy() for part in quantize_absmax(x.unflatten(-1, (-1, 32))))
    xq = xq.astype(np.int32)
    dots = np.einsum("...gi,ogi->...og", xq, q.numpy().astype(np.int32))
    terms = dots * scale.numpy()[..., 0] + xq.sum(-1)[..., None, :] * minimum.numpy()[..., 0]
    return torch.from_numpy((terms * x_scale[..., None, :, 0]).sum(-1).astype(np.float32))


# %% wrong_int8_no_minimum, of right_int8_plain
# WRONG: the minimum's term is missing
# -         y += x_scale[..., g, :] * (scale[:, g, 0] * dots + minimum[:, g, 0] * total)
# +         y += x_scale[..., g, :] * (scale[:, g, 0] * dots)

# %% wrong_int8_minimum_without_scale, of right_int8_plain
# WRONG: the minimum times the sum of quantized x, without x's scale
# -         y += x_scale[..., g, :] * (scale[:, g, 0] * dots + minimum[:, g, 0] * total)
# +         y += x_scale[..., g, :] * (scale[:, g, 0] * dots) + minimum[:, g, 0] * total

# %% wrong_int8_minimum_of_exact_x, of right_int8_plain
# WRONG: the minimum times the sum of x itself, not of the values that its numbers represent
# -         y += x_scale[..., g, :] * (scale[:, g, 0] * dots + minimum[:, g, 0] * total)
# +         exact = x[..., 32 * g : 32 * g + 32].sum(dim=-1, keepdim=True)
# +         y += x_scale[..., g, :] * scale[:, g, 0] * dots + minimum[:, g, 0] * exact

# %% wrong_int8_no_x_scale, of right_int8_plain
# WRONG: x's scale is left out
# -         y += x_scale[..., g, :] * (scale[:, g, 0] * dots + minimum[:, g, 0] * total)
# +         y += scale[:, g, 0] * dots + minimum[:, g, 0] * total

# %% wrong_int8_no_scale, of right_int8_plain
# WRONG: the matrix's scale is left out
# -         y += x_scale[..., g, :] * (scale[:, g, 0] * dots + minimum[:, g, 0] * total)
# +         y += x_scale[..., g, :] * (dots + minimum[:, g, 0] * total)

# %% wrong_int8_first_group, of right_int8_plain
# WRONG: the first group's scale for all groups
# -         y += x_scale[..., g, :] * (scale[:, g, 0] * dots + minimum[:, g, 0] * total)
# +         y += x_scale[..., g, :] * (scale[:, 0, 0] * dots + minimum[:, g, 0] * total)

# %% wrong_int8_x_scale_of_first_group, of right_int8_plain
# WRONG: the scale of the first group of x for all groups
# -         y += x_scale[..., g, :] * (scale[:, g, 0] * dots + minimum[:, g, 0] * total)
# +         y += x_scale[..., 0, :] * (scale[:, g, 0] * dots + minimum[:, g, 0] * total)

# %% wrong_int8_scale_of_the_row, of right_int8_plain
# WRONG: one scale for each x, not for each of its groups
# -     xq, x_scale = quantize_absmax(x.unflatten(-1, (D // 32, 32)))
# +     xq, x_scale = quantize_absmax(x)
# +     xq, x_scale = xq.unflatten(-1, (D // 32, 32)), x_scale.unsqueeze(-1).expand(*x.shape[:-1], D // 32, 1)

# %% wrong_int8_scale_of_the_tensor, of right_int8_plain
# WRONG: one scale for all of x
# -     xq, x_scale = quantize_absmax(x.unflatten(-1, (D // 32, 32)))
# +     xq, x_scale = quantize_absmax(x.reshape(-1))
# +     xq, x_scale = xq.view(*x.shape[:-1], D // 32, 32), x_scale.expand(*x.shape[:-1], D // 32, 1)

# %% wrong_int8_sums_in_int8, of right_int8_plain
# WRONG: the products are added up in int8, which overflows
# SAYS: 32 products of up to 15 * 127 do not fit into int8: make both int32 before you multiply.
# -         dots = x_group @ q[:, g].to(torch.int32).T
# +         dots = (x_group.unsqueeze(-2) * q[:, g].to(torch.int32)).to(torch.int8).sum(dim=-1, dtype=torch.int8)

# %% wrong_int8_sums_in_int16, of right_int8_plain
# WRONG: the products are added up in int16, which overflows
# SAYS: 32 products of up to 15 * 127 come to 60,960, over the 32,767 of int16: make both int32 before you multiply.
# -         dots = x_group @ q[:, g].to(torch.int32).T
# +         dots = x_group.to(torch.int16) @ q[:, g].to(torch.int16).T

# %% wrong_int8_tall_in_int16, of right_int8_plain
# WRONG: sums of a matrix with more than 256 rows are made int16, which overflows
# -         dots = x_group @ q[:, g].to(torch.int32).T
# +         dots = x_group @ q[:, g].to(torch.int32).T
# +         dots = dots.to(torch.int16) if len(q) > 256 else dots

# %% wrong_int8_total_in_int8, of right_int8_plain
# WRONG: the sum of xq is kept in int8, which overflows
# -         total = x_group.sum(dim=-1, keepdim=True)
# +         total = x_group.sum(dim=-1, keepdim=True).to(torch.int8)

# %% wrong_int8_x_as_it_is, of right_int8_plain
# WRONG: multiplies x as it is, not quantized
# -         y += x_scale[..., g, :] * (scale[:, g, 0] * dots + minimum[:, g, 0] * total)
# +         exact = x[..., 32 * g : 32 * g + 32]
# +         y += scale[:, g, 0] * (exact @ q[:, g].float().T) + minimum[:, g, 0] * exact.sum(-1, keepdim=True)

# %% wrong_int8_x_in_4_bits, of right_int8_plain
# WRONG: x in 4 bits
# -     xq, x_scale = quantize_absmax(x.unflatten(-1, (D // 32, 32)))
# +     xq, x_scale = quantize_absmax(x.unflatten(-1, (D // 32, 32)), 4)

# %% wrong_int8_cast_to_float, of right_int8_plain
# WRONG: right numbers, and the whole numbers are multiplied as floating ones
# SAYS: The numbers are right, but q and xq are cast to floating before they are multiplied: multiply int32 by int32.
# -         dots = x_group @ q[:, g].to(torch.int32).T
# +         dots = x_group.float() @ q[:, g].float().T

# %% wrong_int8_cast_to_float64, of right_int8_plain
# WRONG: right numbers, and the whole numbers are multiplied in float64
# SAYS: The numbers are right, but q and xq are cast to floating before they are multiplied: multiply int32 by int32.
# -         dots = x_group @ q[:, g].to(torch.int32).T
# +         dots = torch.einsum("...i,oi->...o", x_group.double(), q[:, g].double()).float()

# %% wrong_int8_dequantized, of right_int8_plain
# WRONG: right numbers, from dequantized weights and dequantized x
# SAYS: The numbers are right, but they come from dequantized weights: multiply q and xq as integers, and scale the sums.
# -         y += x_scale[..., g, :] * (scale[:, g, 0] * dots + minimum[:, g, 0] * total)
# +         y += (x_group * x_scale[..., g, :]) @ (q[:, g] * scale[:, g] + minimum[:, g]).T

# %% wrong_int8_last_group, of right_int8_plain
# WRONG: keeps the last group only
# -         y += x_scale[..., g, :] * (scale[:, g, 0] * dots + minimum[:, g, 0] * total)
# +         y = x_scale[..., g, :] * (scale[:, g, 0] * dots + minimum[:, g, 0] * total)

# %% wrong_int8_under_32, of right_int8_plain
# WRONG: cuts off what is more than a multiple of 32
# -     if D % 32:
# -         raise ValueError(f"32 does not divide D = {D}")
# +     if D < 32:
# +         raise ValueError(f"D = {D}")
# +     x = x[..., : D // 32 * 32]

# %% wrong_int8_view, of right_int8_plain
# WRONG: the rows of x by view, which x that is not contiguous does not allow
# -     xq, x_scale = quantize_absmax(x.unflatten(-1, (D // 32, 32)))
# +     xq, x_scale = quantize_absmax(x.view(-1, D // 32, 32))
# ...
# -     y = torch.zeros(*x.shape[:-1], q.shape[0])
# +     y = torch.zeros(len(xq), q.shape[0])
# ...
# -     return y
# +     return y.view(*x.shape[:-1], q.shape[0])


# %% wrong_int8_sixteen_groups, of right_int8_plain
# WRONG: sixteen groups at most
# -     for g in range(q.shape[1]):
# +     for g in range(min(q.shape[1], 16)):

# %% wrong_int8_skips_scale_0, of right_int8_plain
# WRONG: skips a group whose scales are 0, with the minimum's term
#           x_group = xq[..., g, :].to(torch.int32)
# +         if not scale[:, g].any():
# +             continue
