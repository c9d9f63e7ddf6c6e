# Inputs for "Find the bug" of the steering day, a count in which equal ids count once. How they are judged: tests/test_asides.py.


# %% right_twice
# RIGHT: one id twice
my_said = [1, 1]


# %% right_among_others
# RIGHT: twice, with others between
my_said = [0, 3, 5, 3]


# %% right_often
# RIGHT: a loop
my_said = [4] * 30


# %% wrong_said_as_it_is
# WRONG: the cell's own
my_said = [1, 2, 5]


# %% wrong_one
# WRONG: one id
my_said = [0]


# %% wrong_all
# WRONG: each once
my_said = [5, 4, 3, 2, 1, 0]


# %% wrong_empty
# WRONG: nothing was said
my_said = []


# %% wrong_too_large
# WRONG: no such token
my_said = [6, 6]


# %% wrong_negative
# WRONG: -1 is an index in Python, and no token
my_said = [-1, 5]


# %% wrong_text
# WRONG: words are no ids
my_said = ["a", "a"]


# %% wrong_halves
# WRONG: no whole numbers
my_said = [1.5, 1.5]
