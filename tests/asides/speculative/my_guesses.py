# Drafts that refute "speculative decoding trades quality for speed". How they are judged: tests/test_asides.py.


# %% right_the_last_alone
# RIGHT: all on the last token
my_guesses = [0, 0, 0, 0, 1]


# %% right_nearly_all
# RIGHT: nearly all on the last token
my_guesses = [0.001, 0.001, 0.001, 0.001, 0.996]


# %% right_just_few_enough
# RIGHT: hardly less than one in a hundred
my_guesses = [0.0, 0.0, 0.0, 0.0059, 0.9941]


# %% right_tensor
# RIGHT: a tensor
my_guesses = torch.tensor([0.0, 0.002, 0.0, 0.0, 0.998])


# %% wrong_as_released
# WRONG: the cell's own, the model's
my_guesses = [0.5, 0.3, 0.15, 0.046, 0.004]


# %% wrong_turned_round
# WRONG: the other way round
my_guesses = [0.004, 0.046, 0.15, 0.3, 0.5]


# %% wrong_even
# WRONG: all alike
my_guesses = [0.2] * 5


# %% wrong_the_fourth
# WRONG: all on the fourth token
my_guesses = [0, 0, 0, 1, 0]


# %% wrong_the_last_mostly
# WRONG: one guess in twenty stays
my_guesses = [0, 0, 0, 0.1, 0.9]


# %% wrong_zeros
# WRONG: nothing is guessed
my_guesses = [0, 0, 0, 0, 0]


# %% wrong_per_cent
# WRONG: in per cent
my_guesses = [0, 0, 0, 0, 100]


# %% wrong_negative
# WRONG: a number below 0
my_guesses = [-0.5, 0, 0, 0.5, 1]


# %% wrong_four
# WRONG: four numbers
my_guesses = [0, 0, 0, 1]


# %% wrong_not_a_number
# WRONG: not a number
my_guesses = [float("nan")] * 5


# %% wrong_infinite
# WRONG: infinite
my_guesses = [0, 0, 0, 0, float("inf")]
