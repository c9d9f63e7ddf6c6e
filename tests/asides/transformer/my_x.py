# Inputs for "Find the bug" of the transformer day, eps outside the root. How they are judged: tests/test_asides.py.


# %% right_thousandths
# RIGHT: the lesson's table
my_x = [0.003, 0.004]


# %% right_one_entry
# RIGHT: a vector of one small entry
my_x = [-0.001]


# %% right_tiny
# RIGHT: far below the root of eps
my_x = [1e-5, -2e-5, 3e-5]


# %% right_many
# RIGHT: as wide as SmolLM2's
my_x = [0.002 * (-1) ** i for i in range(576)]


# %% wrong_x_as_it_is
# WRONG: the cell's own
my_x = [3.0, 4.0]


# %% wrong_large
# WRONG: large entries
my_x = [3e6, 4e6]


# %% wrong_zeros
# WRONG: zeros are zeros in both
my_x = [0.0, 0.0, 0.0]


# %% wrong_tenths
# WRONG: not small enough
my_x = [0.3, 0.4]


# %% wrong_one_large_among_small
# WRONG: the mean of the squares is what counts, and one entry is large
my_x = [5.0, 0.001, 0.001]


# %% wrong_nan
# WRONG: not a number
my_x = [math.nan, 0.001]


# %% wrong_empty
# WRONG: no entries
my_x = []
