# Inputs for "Find the bug" of the attention day, a triangle from the upper left. How they are judged: tests/test_asides.py.


# %% right_two_of_five
# RIGHT: the drawing's lengths
my_lengths = (2, 5)


# %% right_one_of_two
# RIGHT: the smallest there is
my_lengths = (1, 2)


# %% right_long
# RIGHT: a chunk of a long text
my_lengths = (100, 3000)


# %% right_one_short
# RIGHT: all but the first
my_lengths = (4, 5)


# %% wrong_square
# WRONG: the cell's own
my_lengths = (3, 3)


# %% wrong_one
# WRONG: one query and one key
my_lengths = (1, 1)


# %% wrong_large_square
# WRONG: a longer text, as a whole
my_lengths = (512, 512)


# %% wrong_exchanged
# WRONG: more queries than keys
my_lengths = (5, 2)


# %% wrong_no_queries
# WRONG: nothing is asked
my_lengths = (0, 5)


# %% wrong_negative
# WRONG: no length at all
my_lengths = (-1, 3)


# %% wrong_nothing
# WRONG: neither queries nor keys
my_lengths = (0, 0)
