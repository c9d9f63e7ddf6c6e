# Gaps for "Find the bug" of the latency day, a goodput that looks at the mean gap. How they are judged: tests/test_asides.py.


# %% right_the_one_that_hangs
# RIGHT: half a second in the middle
my_gaps = [0.0125] * 20 + [0.5125] + [0.0125] * 19


# %% right_at_the_end
# RIGHT: the last gap
my_gaps = [0.01] * 9 + [0.3]


# %% right_first
# RIGHT: the first gap of few
my_gaps = (0.12, 0.01, 0.01)


# %% right_several
# RIGHT: a stop every ten tokens
my_gaps = ([0.02] * 9 + [0.2]) * 4


# %% wrong_as_released
# WRONG: the cell's own: no gap is too long
my_gaps = [0.03, 0.04, 0.03]


# %% wrong_all_too_long
# WRONG: the mean is too long as well
my_gaps = [0.2, 0.2, 0.2]


# %% wrong_by_hand
# WRONG: the request of the text; the colleague is right about it
my_gaps = [0.03125, 0.25]


# %% wrong_one_gap
# WRONG: its own mean
my_gaps = [0.5]


# %% wrong_none
# WRONG: a single token
my_gaps = []


# %% wrong_at_the_limit
# WRONG: every gap is exactly the limit, but for the rounding of a difference
my_gaps = [0.05] * 40


# %% wrong_hardly_a_stop
# WRONG: a gap over the limit, but not twice as long
my_gaps = [0.02] * 20 + [0.06]


# %% wrong_back_in_time
# WRONG: a gap below zero
my_gaps = [0.5, -0.45]


# %% wrong_for_ever
# WRONG: an endless gap
my_gaps = [0.01, math.inf]


# %% wrong_nan
# WRONG: no number
my_gaps = [0.01, math.nan]


# %% wrong_a_number
# WRONG: no list
my_gaps = 0.5
