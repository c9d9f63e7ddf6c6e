# Lengths that refute "pads are masked, so they cost nothing". How they are judged: tests/test_asides.py.


# %% right_seven_short_ones
# RIGHT: the worst there is
my_lengths = [1, 1, 1, 1, 1, 1, 1, 128]


# %% right_the_long_one_first
# RIGHT: four prompts
my_lengths = [128, 2, 2, 2]


# %% right_smaller
# RIGHT: with few tokens
my_lengths = [1, 1, 1, 1, 1, 1, 1, 16]


# %% right_of_six
# RIGHT: six, not all of one token
my_lengths = [3, 100, 5, 4, 6, 7]


# %% wrong_as_released
# WRONG: the cell's own
my_lengths = [16, 16, 16, 16]


# %% wrong_two
# WRONG: two prompts stay below twice
my_lengths = [1, 128]


# %% wrong_three
# WRONG: three prompts stay below three times
my_lengths = [1, 1, 128]


# %% wrong_twice
# WRONG: more than twice, not three times
my_lengths = [8, 8, 8, 8, 40]


# %% wrong_two_long_ones
# WRONG: half of the rows are long
my_lengths = [1, 1, 1, 1, 128, 128, 128, 128]


# %% wrong_none
# WRONG: no prompt
my_lengths = []


# %% wrong_zero
# WRONG: an empty prompt
my_lengths = [0, 0, 0, 0, 0, 0, 128]


# %% wrong_negative
# WRONG: a length below 0
my_lengths = [-5, 1, 1, 1, 128]


# %% wrong_too_many
# WRONG: more than eight
my_lengths = [1] * 30 + [128]


# %% wrong_too_long
# WRONG: longer than the cell takes
my_lengths = [1, 1, 1, 1, 1, 4096]


# %% wrong_halves
# WRONG: half tokens
my_lengths = [1.5, 1.5, 1.5, 1.5, 1.5, 128]


# %% wrong_not_a_number
# WRONG: not a number
my_lengths = [float("nan"), 1, 1, 1, 128]
