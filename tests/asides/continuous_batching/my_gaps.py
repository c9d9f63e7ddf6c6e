# Gaps that refute "a mean latency tells how well users are served". How they are judged: tests/test_asides.py.


# %% right_one_long_gap
# RIGHT: one among nine short ones
my_gaps = [5] * 9 + [60], [24] * 5


# %% right_just_above
# RIGHT: 26 ms against a mean of 10.25
my_gaps = [5, 5, 5, 26], [24]


# %% right_exactly_half
# RIGHT: the mean is exactly half
my_gaps = [4, 4, 4, 36], [24]


# %% right_long_answer
# RIGHT: 200 gaps
my_gaps = [1] * 199 + [2000], [25] * 200


# %% right_tensor
# RIGHT: as a tensor
my_gaps = torch.tensor([[5.0, 5.0, 5.0, 26.0], [24.0, 24.0, 24.0, 24.0]])


# %% wrong_as_released
# WRONG: the cell's own: both keep the promise
my_gaps = [10, 10, 10, 10, 10], [24, 24, 24, 24, 24]


# %% wrong_exactly_kept
# WRONG: a gap of 25 is not above 25
my_gaps = [5] * 9 + [25], [24] * 5


# %% wrong_both_break
# WRONG: the second breaks it, too
my_gaps = [5] * 9 + [60], [24] * 5 + [26]


# %% wrong_mean_not_half
# WRONG: a smaller mean, but not half
my_gaps = [20] * 9 + [50], [24]


# %% wrong_turned_round
# WRONG: the second breaks it
my_gaps = [24] * 5, [5] * 9 + [60]


# %% wrong_in_seconds
# WRONG: seconds
my_gaps = [0.005] * 9 + [0.06], [0.024] * 5


# %% wrong_zero
# WRONG: a gap of nothing
my_gaps = [0] * 9 + [60], [24]


# %% wrong_negative
# WRONG: gaps below nothing
my_gaps = [-50, 60], [24]


# %% wrong_endless
# WRONG: a gap that never ends
my_gaps = [5, math.inf], [24]


# %% wrong_not_a_number
# WRONG: not a number
my_gaps = [float("nan"), 60], [24]


# %% wrong_one_list
# WRONG: one service
my_gaps = [5] * 9 + [60]


# %% wrong_three_lists
# WRONG: three services
my_gaps = [5, 60], [24], [24]


# %% wrong_empty
# WRONG: services without gaps
my_gaps = [], []


# %% wrong_too_long
# WRONG: more gaps than the cell takes
my_gaps = [1] * 1000 + [60], [24]


# %% wrong_words
# WRONG: words
my_gaps = ["5", "60"], ["24"]


# %% wrong_text
# WRONG: a text
my_gaps = "60 24"


# %% wrong_none
# WRONG: nothing
my_gaps = None
