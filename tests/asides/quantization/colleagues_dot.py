# Repairs of the day's bug, a sum in int16, held against lists for which it goes wrong. How they are judged: tests/test_asides.py.


# %% right_int32
# RIGHT: the sum in int32
my_x = torch.ones(32)
my_q = torch.full((32,), 15)


def colleagues_dot(xq: Tensor, q: Tensor) -> Tensor:
    return (xq.short() * q.short()).sum(dtype=torch.int32)


# %% right_pytorchs, of right_int32
# RIGHT: the sum as PyTorch makes it
# -     return (xq.short() * q.short()).sum(dtype=torch.int32)
# +     return (xq.short() * q.short()).sum()


# %% right_all_in_int32, of right_int32
# RIGHT: numbers, products and sum in int32
# -     return (xq.short() * q.short()).sum(dtype=torch.int32)
# +     return (xq.int() * q.int()).sum()


# %% right_in_two_halves, of right_int32
# RIGHT: two sums in int16, added up in int32
# -     return (xq.short() * q.short()).sum(dtype=torch.int32)
# +     return (xq.short() * q.short()).view(2, 16).sum(dim=1, dtype=torch.int16).int().sum()


# %% right_other_lists, of right_int32
# RIGHT: on lists below 0
# - my_x = torch.ones(32)
# - my_q = torch.full((32,), 15)
# + my_x = [-1] * 32
# + my_q = [14] * 32


# %% wrong_as_released, of right_int32
# WRONG: the colleague's own
# -     return (xq.short() * q.short()).sum(dtype=torch.int32)
# +     return (xq.short() * q.short()).sum(dtype=torch.int16)


# %% wrong_wide_products, of right_int32
# WRONG: wide products, and the sum as before
# -     return (xq.short() * q.short()).sum(dtype=torch.int32)
# +     return (xq.int() * q.int()).sum(dtype=torch.int16)


# %% wrong_half, of right_int32
# WRONG: in float16
# -     return (xq.short() * q.short()).sum(dtype=torch.int32)
# +     return (xq.half() * q.half()).sum()


# %% wrong_magnitude, of right_int32
# WRONG: the sign is lost
# -     return (xq.short() * q.short()).sum(dtype=torch.int32)
# +     return (xq.int() * q.int()).abs().sum()


# %% wrong_kept_within, of right_int32
# WRONG: kept within int16
# -     return (xq.short() * q.short()).sum(dtype=torch.int32)
# +     return (xq.int() * q.int()).sum().clamp(-32768, 32767)


# %% wrong_unsigned, of right_int32
# WRONG: in 16 bits without a sign
# -     return (xq.short() * q.short()).sum(dtype=torch.int32)
# +     return (xq.int() * q.int()).sum() % 65536


# %% wrong_on_the_cells_lists, of right_int32
# WRONG: mended, and the cell's own lists, on which nothing is to be seen
# - my_x = torch.ones(32)
# - my_q = torch.full((32,), 15)
# + my_x = torch.arange(32) - 15.5
# + my_q = torch.arange(32) % 16


# %% wrong_no_lists, of right_int32
# WRONG: mended, and no lists
# - my_x = torch.ones(32)
# - my_q = torch.full((32,), 15)
# + my_x = None
# + my_q = None
