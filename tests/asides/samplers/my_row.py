# Inputs for "Find the bug" of the samplers day, the last id where no sum exceeds u. How they are judged: tests/test_asides.py.


# %% right_a_little_less
# RIGHT: ends below 1, a cut token behind
my_row = [0.5, 0.4999999, 0.0]


# %% right_two_cut
# RIGHT: several cut tokens behind
my_row = [0.25, 0.25, 0.25, 0.2499999, 0.0, 0.0]


# %% right_one
# RIGHT: a single share
my_row = [0.9999998, 0.0]


# %% right_out_of_a_softmax
# RIGHT: what rounding makes of a distribution
my_row = next(
    row
    for row in (softmax(3 * torch.randn(200, 60, generator=torch.Generator().manual_seed(0)))).tolist()
    if sum(row) <= 1 - 2**-24
) + [0.0]


# %% wrong_row_as_it_is
# WRONG: the cell's own
my_row = [0.5, 0.25, 0.25, 0.0]


# %% wrong_last_has_a_share
# WRONG: ends below 1, but the last token was not cut
my_row = [0.5, 0.4999999]


# %% wrong_cut_in_the_middle
# WRONG: the cut token stands in the middle
my_row = [0.5, 0.0, 0.4999999]


# %% wrong_cut_in_front
# WRONG: the cut token stands first
my_row = [0.0, 0.5, 0.4999999]


# %% wrong_no_distribution
# WRONG: nobody calls this a distribution
my_row = [0.5, 0.4, 0.0]


# %% wrong_zeros
# WRONG: no shares at all
my_row = [0.0, 0.0]


# %% wrong_empty
# WRONG: no tokens
my_row = []


# %% wrong_negative
# WRONG: a negative share
my_row = [1.5, -0.5000001, 0.0]


# %% wrong_nan
# WRONG: not a number
my_row = [0.5, math.nan, 0.0]


# %% wrong_too_little
# WRONG: a little more than a millionth is missing
my_row = [0.5, 0.499998, 0.0]


# %% wrong_above_one
# WRONG: ends above 1
my_row = [0.5, 0.5000005, 0.0]


# %% right_millionth
# RIGHT: a millionth is missing
my_row = [0.5, 0.499999, 0.0]


# %% right_many
# RIGHT: a millionth is missing
my_row = [0.0999999] * 10 + [0.0] * 5
