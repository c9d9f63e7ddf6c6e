# Numbers (my_x before them) on which a sum in int16 goes wrong. How they are judged: tests/test_asides.py.


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
