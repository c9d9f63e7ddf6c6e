# Prompts for "Find the bug" after left_pad: pads counted by the ids with which a row begins. How they are judged: tests/test_asides.py.


# %% right_begins_with_it
# RIGHT: the longest prompt begins with the pad id
my_rows = [[2, 5]]


# %% right_short_one
# RIGHT: a short prompt begins with it, behind its own pads
my_rows = [[2, 9], [1, 3, 4, 6]]


# %% right_all_of_it
# RIGHT: a prompt of nothing else
my_rows = [[2], [2, 2, 2]]


# %% right_one_of_many
# RIGHT: one of several, in the last row
my_rows = [[7, 8], [9], [1, 2, 3], [2, 7, 2]]


# %% wrong_as_released
# WRONG: the cell's own
my_rows = [[5, 6, 7], [8, 2], [1, 2, 3, 4]]


# %% wrong_inside
# WRONG: the pad id inside prompts and at their end, never first
my_rows = [[5, 2, 2, 2], [8, 2]]


# %% wrong_zeros
# WRONG: prompts that begin with another id that is often a pad
my_rows = [[0, 0, 5], [0]]


# %% wrong_empty
# WRONG: no prompt
my_rows = []


# %% wrong_empty_prompt
# WRONG: a prompt without a token
my_rows = [[], [2, 5]]


# %% wrong_negative
# WRONG: ids that are none
my_rows = [[2, -1], [3]]


# %% wrong_floats
# WRONG: numbers that are no ids
my_rows = [[2.0, 5.0]]


# %% wrong_not_a_number
# WRONG: not a number
my_rows = [[float("nan"), 2]]


# %% wrong_one_token
# WRONG: one prompt, nothing to pad
my_rows = [[5]]


# %% wrong_outside_the_vocabulary
# WRONG: an id that no token has
my_rows = [[2, 10**9]]


# %% wrong_true
# WRONG: truth values for ids
my_rows = [[2, True]]
