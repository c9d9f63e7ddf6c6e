# Versions of quantized_linear, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_linear_plain
# RIGHT: group by group; most of the wrong versions are edits of it

def quantized_linear(x, q, scale, minimum):
    D = x.shape[-1]
    if D % 32:
        raise ValueError(f"32 does not divide D = {D}")
    y = torch.zeros(*x.shape[:-1], q.shape[0])
    for g in range(q.shape[1]):
        x_group = x[..., 32 * g : 32 * (g + 1)]
        dots = x_group @ q[:, g].float().T
        total = x_group.sum(dim=-1, keepdim=True)
        y += scale[:, g, 0] * dots + minimum[:, g, 0] * total
    return y


# %% right_linear_row_by_row
# RIGHT: one row of the matrix after another is made floating

def quantized_linear(x, q, scale, minimum):
    if x.shape[-1] % 32 != 0:
        raise ValueError(f"{x.shape[-1]} is no multiple of 32")
    columns = []
    for row, its_scale, its_minimum in zip(q, scale, minimum):
        weights = row.float() * its_scale + its_minimum
        columns.append(x @ weights.flatten())
    return torch.stack(columns, dim=-1)


# %% right_linear_dequantized_groups
# RIGHT: a group of all rows is dequantized, then multiplied

def quantized_linear(x, q, scale, minimum):
    if x.size(-1) % 32:
        raise ValueError(f"D is {x.size(-1)}")
    return sum(
        x_group @ dequantize(q[:, g], scale[:, g], minimum[:, g]).T
        for g, x_group in enumerate(x.split(32, dim=-1))
    )


# %% right_linear_products_and_sums
# RIGHT: products and sums elementwise, for the groups of one row of the matrix at a time

def quantized_linear(x, q, scale, minimum):
    width = x.shape[-1]
    if width % 32 > 0:
        raise ValueError("D must be a multiple of 32, got " + str(width))
    groups = x.reshape(-1, width // 32, 32)
    sums = groups.sum(-1)
    y = torch.empty(len(groups), len(q))
    for row in range(len(q)):
        dots = (groups * q[row]).sum(-1)
        y[:, row] = dots @ scale[row, :, 0] + sums @ minimum[row, :, 0]
    return y.reshape(*x.shape[:-1], len(q))


# %% wrong_linear_no_minimum, of right_linear_plain
# WRONG: the minimum's term is missing
# -         y += scale[:, g, 0] * dots + minimum[:, g, 0] * total
# +         y += scale[:, g, 0] * dots

# %% wrong_linear_minimum_once, of right_linear_plain
# WRONG: adds the minimum itself, not times the sum of x
# -         y += scale[:, g, 0] * dots + minimum[:, g, 0] * total
# +         y += scale[:, g, 0] * dots + minimum[:, g, 0]

# %% wrong_linear_minimum_subtracted, of right_linear_plain
# WRONG: subtracts the minimum's term
# -         y += scale[:, g, 0] * dots + minimum[:, g, 0] * total
# +         y += scale[:, g, 0] * dots - minimum[:, g, 0] * total

# %% wrong_linear_minimum_scaled, of right_linear_plain
# WRONG: scales the minimum's term too
# -         y += scale[:, g, 0] * dots + minimum[:, g, 0] * total
# +         y += scale[:, g, 0] * (dots + minimum[:, g, 0] * total)

# %% wrong_linear_exchanged, of right_linear_plain
# WRONG: takes the scale for the minimum and the minimum for the scale
# -         y += scale[:, g, 0] * dots + minimum[:, g, 0] * total
# +         y += minimum[:, g, 0] * dots + scale[:, g, 0] * total

# %% wrong_linear_first_group, of right_linear_plain
# WRONG: the first group's scale for all groups
# -         y += scale[:, g, 0] * dots + minimum[:, g, 0] * total
# +         y += scale[:, 0, 0] * dots + minimum[:, g, 0] * total

# %% wrong_linear_first_group_minimum, of right_linear_plain
# WRONG: the first group's minimum for all groups
# -         y += scale[:, g, 0] * dots + minimum[:, g, 0] * total
# +         y += scale[:, g, 0] * dots + minimum[:, 0, 0] * total

# %% wrong_linear_mean, of right_linear_plain
# WRONG: the mean of x in place of its sum
# -         total = x_group.sum(dim=-1, keepdim=True)
# +         total = x_group.mean(dim=-1, keepdim=True)

# %% wrong_linear_sum_of_all, of right_linear_plain
# WRONG: the sum of the whole of x for each group
# -         total = x_group.sum(dim=-1, keepdim=True)
# +         total = x.sum(dim=-1, keepdim=True)

# %% wrong_linear_last_group, of right_linear_plain
# WRONG: keeps the last group only
# -         y += scale[:, g, 0] * dots + minimum[:, g, 0] * total
# +         y = scale[:, g, 0] * dots + minimum[:, g, 0] * total

# %% wrong_linear_drops_a_group, of right_linear_plain
# WRONG: the last group is left out where there are several
# -     for g in range(q.shape[1]):
# +     for g in range(max(q.shape[1] - 1, 1)):

# %% wrong_linear_strided_groups, of right_linear_plain
# WRONG: takes every so-manieth number of x for a group, not 32 neighbours
# -         x_group = x[..., 32 * g : 32 * (g + 1)]
# +         x_group = x[..., g :: q.shape[1]]

# %% wrong_linear_cut, of right_linear_plain
# WRONG: a width that 32 does not divide is not refused
# -     if D % 32:
# -         raise ValueError(f"32 does not divide D = {D}")
# +     if D % 32:
# +         return x @ dequantize(q, scale, minimum).flatten(1)[:, :D].T if D < q[0].numel() else torch.zeros(*x.shape[:-1], len(q))

# %% wrong_linear_under_32, of right_linear_plain
# WRONG: refuses widths under 32 only
# -     if D % 32:
# +     if D < 32:

# %% wrong_linear_names_nothing, of right_linear_plain
# WRONG: the message does not name D
# -         raise ValueError(f"32 does not divide D = {D}")
# +         raise ValueError("D must be a multiple of 32")

# %% wrong_linear_dequantized_whole
# WRONG: right numbers, and the whole matrix is made floating at once
# SAYS: The product is right, but for a moment the whole matrix is floating: make one group, or one row, of it floating at a time.

def quantized_linear(x, q, scale, minimum):
    if x.shape[-1] % 32:
        raise ValueError(f"D = {x.shape[-1]}")
    return x @ dequantize(q, scale, minimum).flatten(1).T


# %% wrong_linear_half_whole
# WRONG: right numbers, nearly, and the whole matrix is made floating in 16 bits
# SAYS: The whole matrix is made floating in 16 bits: make one group, or one row, of it floating at a time.

def quantized_linear(x, q, scale, minimum):
    if x.shape[-1] % 32:
        raise ValueError(f"D = {x.shape[-1]}")
    weights = q.half().flatten(1)
    y = (x.unflatten(-1, (-1, 32)).sum(-1)) @ minimum.squeeze(-1).T
    for g in range(q.shape[1]):
        y = y + (x[..., 32 * g : 32 * g + 32] @ weights[:, 32 * g : 32 * g + 32].float().T) * scale[:, g, 0]
    return y


# %% wrong_linear_every_group_at_once
# WRONG: right numbers, and all groups are made floating at once for one einsum
# SAYS: The product is right, but q is made floating as a whole: make one group, or one row, of it floating at a time.

def quantized_linear(x, q, scale, minimum):
    if x.shape[-1] % 32:
        raise ValueError(f"D = {x.shape[-1]}")
    groups = x.unflatten(-1, (-1, 32))
    dots = torch.einsum("...gi,ogi->...og", groups, q.float())
    return (dots * scale.squeeze(-1)).sum(-1) + groups.sum(-1) @ minimum.squeeze(-1).T


# %% wrong_linear_x_in_8_bits, of right_linear_plain
# WRONG: quantizes x too, which is the next exercise
# -     y = torch.zeros(*x.shape[:-1], q.shape[0])
# +     y = torch.zeros(*x.shape[:-1], q.shape[0])
# +     x = dequantize(*quantize_absmax(x.unflatten(-1, (-1, 32)))).flatten(-2)

# %% wrong_linear_view
# WRONG: the rows of x by view, which x that is not contiguous does not allow

def quantized_linear(x, q, scale, minimum):
    D = x.shape[-1]
    if D % 32:
        raise ValueError(f"32 does not divide D = {D}")
    rows = x.view(-1, D // 32, 32)
    y = rows.sum(dim=-1) @ minimum.squeeze(-1).T
    for g in range(q.shape[1]):
        y += rows[:, g] @ q[:, g].float().T * scale[:, g, 0]
    return y.view(*x.shape[:-1], q.shape[0])


# %% wrong_linear_sixteen_groups, of right_linear_plain
# WRONG: sixteen groups at most
# -     for g in range(q.shape[1]):
# +     for g in range(min(q.shape[1], 16)):

# %% wrong_linear_skips_scale_0, of right_linear_plain
# WRONG: skips a group whose scales are 0, with the minimum's term
#           x_group = x[..., 32 * g : 32 * (g + 1)]
# +         if not scale[:, g].any():
# +             continue
