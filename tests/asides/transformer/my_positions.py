# Inputs for "Find the bug" of the transformer day, a layer that counts for itself. How they are judged: tests/test_asides.py.


# %% right_a_gap
# RIGHT: the last one stands further on
my_positions = [0, 1, 7]


# %% right_every_second
# RIGHT: every second position
my_positions = list(range(0, 40, 2))


# %% right_first_apart
# RIGHT: the first token, and then a run much later
my_positions = [0, 100, 101, 102]


# %% wrong_positions_as_they_are
# WRONG: the cell's own
my_positions = [57, 58, 59]


# %% wrong_from_zero
# WRONG: what the layer counts itself
my_positions = [0, 1, 2, 3, 4]


# %% wrong_far_run
# WRONG: a run of neighbours, far on
my_positions = list(range(2_000, 2_008))


# %% wrong_falling
# WRONG: positions that fall
my_positions = [7, 1, 0]


# %% wrong_all_alike
# WRONG: all tokens in one place
my_positions = [5, 5, 5]


# %% wrong_two
# WRONG: two only
my_positions = [0, 9]


# %% wrong_negative
# WRONG: before the text begins
my_positions = [-3, 0, 5]


# %% wrong_one
# WRONG: a single token reads itself, wherever it stands
my_positions = [57]


# %% wrong_nan
# WRONG: a position that is none
my_positions = [0, 1, float("nan")]


# %% wrong_inf
# WRONG: a position that is none
my_positions = [0, 1, float("inf")]


# %% right_tensor
# RIGHT: a tensor of positions
my_positions = torch.tensor([3, 4, 9])


# %% right_range
# RIGHT: a range with steps
my_positions = range(0, 9, 3)


# %% right_far_gap
# RIGHT: neighbours, and the last one as far as the cell takes
my_positions = (0, 1, 1_000_000)


# %% wrong_none
# WRONG: nothing
my_positions = None


# %% wrong_text
# WRONG: text
my_positions = "0, 1, 7"


# %% wrong_one_number
# WRONG: a number, not a list
my_positions = 57


# %% wrong_empty
# WRONG: no positions
my_positions = []


# %% wrong_nested
# WRONG: a list in a list
my_positions = [[0, 1, 7]]


# %% wrong_floats
# WRONG: numbers that are no places
my_positions = [0.0, 1.0, 7.0]


# %% wrong_truth_values
# WRONG: truth values for places
my_positions = [False, True, 7]


# %% wrong_too_many
# WRONG: more than the cell takes
my_positions = range(0, 1_000_000, 2)


# %% wrong_tensors_of_many
# WRONG: entries that are tensors
my_positions = [torch.arange(3), torch.arange(3), torch.arange(3)]
