# Repairs of the day's bug, a sum in int16, held against lists for which it goes wrong. How they are judged: tests/test_asides.py.


# %% right_int32
# RIGHT: the sum in int32
my_x = torch.ones(32)
my_q = torch.full((32,), 15)


def colleagues_dot(xq: Tensor, q: Tensor) -> Tensor:
    return (xq.short() * q.short()).sum(dtype=torch.int32)


# %% right_pytorchs
# RIGHT: the sum as PyTorch makes it
my_x = torch.ones(32)
my_q = torch.full((32,), 15)


def colleagues_dot(xq: Tensor, q: Tensor) -> Tensor:
    return (xq.short() * q.short()).sum()


# %% right_all_in_int32
# RIGHT: numbers, products and sum in int32
my_x = torch.ones(32)
my_q = torch.full((32,), 15)


def colleagues_dot(xq: Tensor, q: Tensor) -> Tensor:
    return (xq.int() * q.int()).sum()


# %% right_in_two_halves
# RIGHT: two sums in int16, added up in int32
my_x = torch.ones(32)
my_q = torch.full((32,), 15)


def colleagues_dot(xq: Tensor, q: Tensor) -> Tensor:
    return (xq.short() * q.short()).view(2, 16).sum(dim=1, dtype=torch.int16).int().sum()


# %% right_other_lists
# RIGHT: on lists below 0
my_x = [-1] * 32
my_q = [14] * 32


def colleagues_dot(xq: Tensor, q: Tensor) -> Tensor:
    return (xq.short() * q.short()).sum(dtype=torch.int32)


# %% wrong_as_released
# WRONG: the colleague's own
my_x = torch.ones(32)
my_q = torch.full((32,), 15)


def colleagues_dot(xq: Tensor, q: Tensor) -> Tensor:
    return (xq.short() * q.short()).sum(dtype=torch.int16)


# %% wrong_wide_products
# WRONG: wide products, and the sum as before
my_x = torch.ones(32)
my_q = torch.full((32,), 15)


def colleagues_dot(xq: Tensor, q: Tensor) -> Tensor:
    return (xq.int() * q.int()).sum(dtype=torch.int16)


# %% wrong_half
# WRONG: in float16
my_x = torch.ones(32)
my_q = torch.full((32,), 15)


def colleagues_dot(xq: Tensor, q: Tensor) -> Tensor:
    return (xq.half() * q.half()).sum()


# %% wrong_magnitude
# WRONG: the sign is lost
my_x = torch.ones(32)
my_q = torch.full((32,), 15)


def colleagues_dot(xq: Tensor, q: Tensor) -> Tensor:
    return (xq.int() * q.int()).abs().sum()


# %% wrong_kept_within
# WRONG: kept within int16
my_x = torch.ones(32)
my_q = torch.full((32,), 15)


def colleagues_dot(xq: Tensor, q: Tensor) -> Tensor:
    return (xq.int() * q.int()).sum().clamp(-32768, 32767)


# %% wrong_unsigned
# WRONG: in 16 bits without a sign
my_x = torch.ones(32)
my_q = torch.full((32,), 15)


def colleagues_dot(xq: Tensor, q: Tensor) -> Tensor:
    return (xq.int() * q.int()).sum() % 65536


# %% wrong_on_the_cells_lists
# WRONG: mended, and the cell's own lists, on which nothing is to be seen
my_x = torch.arange(32) - 15.5
my_q = torch.arange(32) % 16


def colleagues_dot(xq: Tensor, q: Tensor) -> Tensor:
    return (xq.short() * q.short()).sum(dtype=torch.int32)


# %% wrong_no_lists
# WRONG: mended, and no lists
my_x = None
my_q = None


def colleagues_dot(xq: Tensor, q: Tensor) -> Tensor:
    return (xq.short() * q.short()).sum(dtype=torch.int32)
