# Inputs for "Find the bug" of the softmax day, one maximum for all rows. How they are judged: tests/test_asides.py.


# %% right_two_thousand_apart
# RIGHT: the rows of the picture
my_rows = [[1000.0, 1001.0], [-1000.0, -999.0]]


# %% right_second_row_above
# RIGHT: the first row is the lost one
my_rows = [[0.0, 1.0, 2.0], [150.0, 151.0, 152.0]]


# %% right_digits_lost
# RIGHT: the lower row is not lost yet, but has few digits left
my_rows = [[0.0, -0.5], [-102.0, -102.5]]


# %% right_one_large_entry
# RIGHT: a single large logit in the other row is enough
my_rows = [[0.0, 0.0, 400.0], [1.0, 2.0, 3.0]]


# %% wrong_rows_as_they_are
# WRONG: the cell's own rows
my_rows = [[2.0, -1.5, 0.3], [12.0, 8.5, 10.3]]


# %% wrong_both_large
# WRONG: large, but both rows alike
my_rows = [[1000.0, 1001.0], [1001.0, 1000.0]]


# %% wrong_both_small
# WRONG: both far below 0, and at the same height
my_rows = [[-1000.0, -999.0], [-1001.0, -1000.0]]


# %% wrong_wide_inside_a_row
# WRONG: gaps of thousands inside each row: what rounds to 0 is 0 in both versions
my_rows = [[0.0, 5000.0], [5000.0, 0.0]]


# %% wrong_fifty_apart
# WRONG: not far enough apart
my_rows = [[0.0, 1.0], [50.0, 51.0]]


# %% wrong_one_row
# WRONG: one row has one maximum
my_rows = [[1000.0, -1000.0]]


# %% wrong_not_a_number
# WRONG: nan goes in, so nan comes out of any version
my_rows = [[float("nan"), 1.0], [0.0, 1.0]]


# %% wrong_nothing_allowed
# WRONG: a row of nothing but -inf is no distribution in any version
my_rows = [[0.0, 1.0], [float("-inf"), float("-inf")]]
