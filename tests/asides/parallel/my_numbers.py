# Numbers that refute "all ranks add the same numbers, so all have the same sum". How they are judged: tests/test_asides.py.


# %% right_two_large_ones
# RIGHT: two large ones that vanish, and two small ones
my_numbers = [1e17, 1.0, -1e17, 1.0]


# %% right_one_small_one
# RIGHT: one small one
my_numbers = (1e100, 1, -1e100, 0)


# %% right_just_large_enough
# RIGHT: 2 to the 53
my_numbers = [2.0**53, 1, -(2.0**53), 0]


# %% right_whole_numbers
# RIGHT: Python's whole numbers
my_numbers = [10**20, 500, -(10**20), -3]


# %% right_tensor
# RIGHT: a tensor
my_numbers = torch.tensor([1e17, 1.0, -1e17, 1.0], dtype=torch.float64)


# %% wrong_as_released
# WRONG: the cell's own
my_numbers = [1.0, 2.0, 3.0, 4.0]


# %% wrong_last_bit
# WRONG: only the last bits differ
my_numbers = [0.1, 0.2, 0.3, 0.7]


# %% wrong_not_large_enough
# WRONG: less than 1 apart
my_numbers = [1e15, 0.1, 0.3, -1e15]


# %% wrong_stays_large
# WRONG: the large one does not vanish, and all round alike
my_numbers = [1e17, 1, 1, 1]


# %% wrong_large_side_by_side
# WRONG: the large ones meet in time
my_numbers = [0, 0, 1e17, -1e17]


# %% wrong_beyond
# WRONG: sums beyond all numbers
my_numbers = [1e308, 1e308, -1e308, -1e308]


# %% wrong_infinite
# WRONG: infinite
my_numbers = [float("inf"), 1, 2, 3]


# %% wrong_not_a_number
# WRONG: not a number
my_numbers = [float("nan")] * 4


# %% wrong_three
# WRONG: one rank has none
my_numbers = [1e17, 1.0, -1e17]


# %% wrong_lists
# WRONG: a list for each rank
my_numbers = [[1e17, 1.0]] * 4


# %% wrong_one
# WRONG: one number
my_numbers = 1e17


# %% wrong_text
# WRONG: text
my_numbers = "four numbers"


# %% wrong_none
# WRONG: nothing
my_numbers = None
