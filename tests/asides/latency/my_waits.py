# Waits for "Find the bug" of the latency day, a percentile rounded down. How they are judged: tests/test_asides.py.


# %% right_by_hand
# RIGHT: the ten of the text
my_waits = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 3.0]


# %% right_two
# RIGHT: two are enough
my_waits = [0.1, 2.0]


# %% right_unordered
# RIGHT: the long one first
my_waits = [20.0] + [0.5] * 9


# %% right_a_hundred
# RIGHT: one of a hundred, and it is long enough
my_waits = tuple([0.1] * 99 + [60])


# %% wrong_as_released
# WRONG: the cell's own, wrong by a third
my_waits = [0.3, 0.1, 0.2]


# %% wrong_a_hundred_and_one
# WRONG: the place is a whole number
my_waits = [0.1] * 100 + [60.0]


# %% wrong_all_alike
# WRONG: every place has the same wait
my_waits = [0.5] * 10


# %% wrong_two_long_ones
# WRONG: the colleague sees the other long one
my_waits = [0.1] * 8 + [3.0, 3.0]


# %% wrong_one
# WRONG: one wait
my_waits = [3.0]


# %% wrong_none
# WRONG: no wait
my_waits = []


# %% wrong_nan
# WRONG: no order
my_waits = [0.1, math.nan]


# %% wrong_infinite
# WRONG: for ever
my_waits = [0.1, math.inf]


# %% wrong_below_zero
# WRONG: a wait before the request
my_waits = [-5.0, 0.0]


# %% wrong_a_number
# WRONG: no list
my_waits = 3.0


# %% wrong_words
# WRONG: no numbers
my_waits = ["short", "long"]


# %% wrong_half
# WRONG: 91 % of the way from 0.9 is not twice as much
my_waits = [0.1] * 8 + [0.9, 1.8]
