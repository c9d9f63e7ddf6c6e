# === colleagues_dot
# Repairs of the day's bug, a sum in int16, held against lists for which it goes wrong. How they are judged: tests/lessons/test_asides.py.


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
# WRONG: repaired, and the cell's own lists, on which nothing is to be seen
# - my_x = torch.ones(32)
# - my_q = torch.full((32,), 15)
# + my_x = torch.arange(32) - 15.5
# + my_q = torch.arange(32) % 16


# %% wrong_no_lists, of right_int32
# WRONG: repaired, and no lists
# - my_x = torch.ones(32)
# - my_q = torch.full((32,), 15)
# + my_x = None
# + my_q = None


# === my_probs
# Rows that refute "its perplexity is lower, so the model is even better". How they are judged: tests/lessons/test_asides.py.


# %% right_a_little_surer
# RIGHT: the tokens that come a little more, all else turned round
my_probs = [[0.01, 0.01, 0.5, 0.48], [0.48, 0.5, 0.01, 0.01]]


# %% right_nearly_certain
# RIGHT: the tokens that come, and nothing else
my_probs = [[0.003, 0.003, 0.99, 0.004], [0.003, 0.99, 0.003, 0.004]]


# %% right_one_row
# RIGHT: one row only
my_probs = [[0.3, 0.2, 0.41, 0.09], [0.003, 0.99, 0.003, 0.004]]


# %% right_tensor
# RIGHT: a tensor
my_probs = torch.tensor([[0.004, 0.3, 0.41, 0.286], [0.585, 0.405, 0.005, 0.005]])


# %% wrong_as_released
# WRONG: the cell's own
my_probs = [[0.28, 0.22, 0.39, 0.11], [0.12, 0.39, 0.29, 0.2]]


# %% wrong_the_models
# WRONG: the model's own rows
my_probs = [[0.3, 0.2, 0.4, 0.1], [0.1, 0.4, 0.3, 0.2]]


# %% wrong_as_high
# WRONG: far away, with the same perplexity
my_probs = [[0.01, 0.58, 0.4, 0.01], [0.01, 0.4, 0.58, 0.01]]


# %% wrong_lower_and_near
# WRONG: a lower perplexity, and near
my_probs = [[0.25, 0.2, 0.45, 0.1], [0.1, 0.45, 0.25, 0.2]]


# %% wrong_other_tokens
# WRONG: certain of tokens that do not come
my_probs = [[0.97, 0.01, 0.01, 0.01], [0.97, 0.01, 0.01, 0.01]]


# %% wrong_even
# WRONG: all alike
my_probs = [[0.25] * 4] * 2


# %% wrong_zeros
# WRONG: with zeros
my_probs = [[0, 0, 1, 0], [0, 1, 0, 0]]


# %% wrong_per_cent
# WRONG: in per cent
my_probs = [[1, 1, 50, 48], [48, 50, 1, 1]]


# %% wrong_three_rows
# WRONG: a row too many
my_probs = [[0.01, 0.01, 0.5, 0.48], [0.48, 0.5, 0.01, 0.01], [0.25] * 4]


# %% wrong_one_row_alone
# WRONG: one row in place of two
my_probs = [0.01, 0.01, 0.5, 0.48]


# %% wrong_ragged
# WRONG: rows of two lengths
my_probs = [[0.01, 0.01, 0.5, 0.48], [0.48, 0.52]]


# %% wrong_negative
# WRONG: a number below 0
my_probs = [[-0.5, 0.5, 0.5, 0.5], [0.48, 0.5, 0.01, 0.01]]


# %% wrong_not_a_number
# WRONG: not a number
my_probs = [[float("nan")] * 4] * 2


# %% wrong_text
# WRONG: text
my_probs = "0.01 0.01 0.5 0.48"


# %% wrong_none
# WRONG: nothing
my_probs = None


# === my_q
# Numbers (my_x before them) on which a sum in int16 goes wrong. How they are judged: tests/lessons/test_asides.py.


# %% right_ones
# RIGHT: all in one direction
my_x = torch.ones(32)
my_q = torch.full((32,), 15)


# %% right_below_zero
# RIGHT: all below 0
my_x = [-3.5] * 32
my_q = [15] * 32


# %% right_eighteen
# RIGHT: just too many
my_x = [1] * 18 + [0] * 14
my_q = [15] * 32


# %% right_less_than_15
# RIGHT: with smaller q
my_x = [2.0] * 32
my_q = [9] * 32


# %% right_tiny_numbers
# RIGHT: tiny numbers
my_x = [1e-30] * 32
my_q = [15] * 32


# %% wrong_as_released
# WRONG: the cell's own
my_x = torch.arange(32) - 15.5
my_q = torch.arange(32) % 16


# %% wrong_x_alone
# WRONG: large x, the cell's q
my_x = [1000] * 32
my_q = torch.arange(32) % 16


# %% wrong_q_alone
# WRONG: large q, the cell's x
my_x = torch.arange(32) - 15.5
my_q = [15] * 32


# %% wrong_seventeen
# WRONG: just few enough
my_x = [1] * 17 + [0] * 15
my_q = [15] * 32


# %% wrong_half_of_15
# WRONG: q too small for the sum to be too large
my_x = torch.ones(32)
my_q = torch.full((32,), 8)


# %% wrong_random
# WRONG: random x
my_x = torch.randn(32, generator=torch.Generator().manual_seed(0))
my_q = [15] * 32


# %% wrong_zeros
# WRONG: nothing but zeros
my_x = [0] * 32
my_q = [15] * 32


# %% wrong_five_bits
# WRONG: q of more than 4 bits
my_x = [1] * 32
my_q = [31] * 32


# %% wrong_negative
# WRONG: q below 0
my_x = [1] * 32
my_q = [-15] * 32


# %% wrong_halves
# WRONG: q that is not whole
my_x = [1] * 32
my_q = [14.5] * 32


# %% wrong_64
# WRONG: twice as many
my_x = [1] * 64
my_q = [15] * 64


# %% wrong_matrix
# WRONG: a matrix
my_x = torch.ones(1, 32)
my_q = torch.full((1, 32), 15)


# %% wrong_not_a_number
# WRONG: not a number
my_x = [float("nan")] * 32
my_q = [15] * 32


# %% wrong_infinite
# WRONG: infinite
my_x = [float("inf")] * 32
my_q = [15] * 32


# %% wrong_one_number
# WRONG: one number each
my_x = 1
my_q = 15


# %% wrong_text
# WRONG: text
my_x = "ones"
my_q = "fifteens"


# %% wrong_none
# WRONG: nothing
my_x = None
my_q = None
