# Cuts that refute "every piece that a client reads is one event" without an error. How they are judged: tests/test_asides.py.


# %% right_behind_one_digit
# RIGHT: one digit in the first piece
my_cut = 7


# %% right_in_the_middle
# RIGHT: six digits
my_cut = 12


# %% right_at_the_last
# RIGHT: one digit is left behind the six bytes
my_cut = 15


# %% right_tensor
# RIGHT: a tensor
my_cut = torch.tensor(9)


# %% wrong_as_released
# WRONG: the cell's own, one piece
my_cut = 24


# %% wrong_before_the_number
# WRONG: no digit in the first piece
my_cut = 6


# %% wrong_too_few_left
# WRONG: the second piece has six digits
my_cut = 16


# %% wrong_behind_the_number
# WRONG: the empty line in the second piece
my_cut = 22


# %% wrong_between_the_newlines
# WRONG: between the two newlines
my_cut = 23


# %% wrong_in_the_field
# WRONG: inside of data:
my_cut = 3


# %% wrong_beyond
# WRONG: more bytes than there are
my_cut = 25


# %% wrong_zero
# WRONG: nothing in the first piece
my_cut = 0


# %% wrong_from_behind
# WRONG: from behind
my_cut = -12
