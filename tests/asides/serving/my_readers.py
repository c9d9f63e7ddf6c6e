# Readers for which the colleague refuses somebody while nobody waits. How they are judged: tests/test_asides.py.


# %% right_two_slow_ones
# RIGHT: two that read slowly
my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]


# %% right_nobody_runs
# RIGHT: all are done, and read
my_readers = [(0, 4, 500), (5, 4, 500), (30, 4, 500), (700, 1, 0)]


# %% right_one_token_each
# RIGHT: one token each
my_readers = [[0, 1, 1000], [50, 1, 1000], [100, 1, 1000], [200, 1, 0]]


# %% right_at_once
# RIGHT: three at once
my_readers = [(0, 1, 5000)] * 3 + [(500, 1, 0)]


# %% wrong_as_released
# WRONG: the cell's own
my_readers = [(0, 4, 0), (5, 4, 0), (30, 4, 0), (130, 4, 0)]


# %% wrong_full
# WRONG: full indeed
my_readers = [(0, 90, 0), (5, 90, 0), (30, 4, 0), (130, 4, 0)]


# %% wrong_quick_readers
# WRONG: read faster than made
my_readers = [(0, 4, 15), (5, 4, 15), (30, 4, 15), (130, 4, 15)]


# %% wrong_three
# WRONG: only three come
my_readers = [(0, 4, 500), (5, 4, 500), (30, 4, 500)]


# %% wrong_comes_late
# WRONG: slow, but the fourth comes when they are gone
my_readers = [(0, 2, 50), (5, 2, 50), (30, 2, 50), (900, 4, 0)]


# %% wrong_ten_at_once
# WRONG: ten at once
my_readers = [(0, 4, 0)] * 10


# %% wrong_eleven
# WRONG: more than ten
my_readers = [(0, 4, 100)] * 11


# %% wrong_no_tokens
# WRONG: no tokens
my_readers = [(0, 0, 100), (5, 0, 100), (30, 4, 0), (130, 4, 0)]


# %% wrong_more_than_fits
# WRONG: an answer that never fits
my_readers = [(0, 10_000, 100)] * 4


# %% wrong_before_the_start
# WRONG: before the beginning
my_readers = [(-5, 4, 100), (0, 4, 100), (30, 4, 0), (130, 4, 0)]


# %% wrong_fractions
# WRONG: fractions of ms
my_readers = [(0.5, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]


# %% wrong_pairs
# WRONG: two numbers each
my_readers = [(0, 4), (5, 4), (30, 4), (130, 4)]


# %% wrong_not_a_number
# WRONG: not a number
my_readers = [(0, 4, float("nan"))] * 4


# %% wrong_empty
# WRONG: nobody
my_readers = []
