# Inputs for "Find the bug" of the attention day, zeros after the softmax and the sum mended. How they are judged: tests/test_asides.py.


# %% right_two_hundred
# RIGHT: the hidden score takes all the room
my_scores = [0.0, 1.0, 200.0]


# %% right_low_scores
# RIGHT: the visible ones are low, the hidden one ordinary
my_scores = [-150.0, -151.0, 0.0]


# %% right_digits_lost
# RIGHT: the visible weights are not 0 yet, but have few digits left
my_scores = [0.0, 0.5, 103.0]


# %% wrong_scores_as_they_are
# WRONG: the cell's own
my_scores = [0.0, 0.7071, 0.7071]


# %% wrong_all_large
# WRONG: large, but all alike
my_scores = [1000.0, 1001.0, 1002.0]


# %% wrong_hidden_low
# WRONG: the hidden score is the low one
my_scores = [0.0, 1.0, -500.0]


# %% wrong_visible_far_apart
# WRONG: the gap lies between the two visible ones
my_scores = [0.0, 500.0, 400.0]


# %% wrong_eighty
# WRONG: not far enough
my_scores = [0.0, 1.0, 80.0]


# %% wrong_infinite
# WRONG: an infinite score spoils any softmax
my_scores = [0.0, 1.0, math.inf]


# %% wrong_four
# WRONG: four scores
my_scores = [0.0, 1.0, 2.0, 200.0]


# %% right_text_ints
# RIGHT: whole numbers
my_scores = [0, 1, 200]
