# Scores for "Find the bug" after finish: the maximum of the last tile, not of all so far. How they are judged: tests/test_asides.py.


# %% right_large_first
# RIGHT: the largest score in the first tile
my_scores = [200, 0, 0, 0, 0, 0, 0, 0]


# %% right_large_in_the_middle
# RIGHT: after it a tile that is much lower
my_scores = [0, 0, 0, 120, 1, 2, 3, 4]


# %% right_a_later_tile_masked
# RIGHT: nothing to be seen in the second tile
my_scores = [1, 2, -math.inf, -math.inf, 3, 4, 5, 6]


# %% right_the_first_tile_masked
# RIGHT: nothing to be seen in the first tile
my_scores = (-math.inf, -math.inf, 1, 2, 3, 4, 5, 6)


# %% right_falls_by_ninety
# RIGHT: just beyond float32
my_scores = [90.0, 90.0, 0, 0, 0, 0, 0, 0]


# %% right_tensor
# RIGHT: as a tensor
my_scores = torch.tensor([1000.0, 0, 0, 0, 0, 0, 0, 0])


# %% wrong_as_released
# WRONG: the cell's own
my_scores = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


# %% wrong_falling
# WRONG: falling, and not far
my_scores = [7, 6, 5, 4, 3, 2, 1, 0]


# %% wrong_rising_far
# WRONG: rising, however far
my_scores = [0, 100, 200, 300, 400, 500, 600, 700]


# %% wrong_large_last
# WRONG: the largest score in the last tile
my_scores = [0, 0, 0, 0, 0, 0, 0, 900]


# %% wrong_eighty
# WRONG: eighty above the next tile, which float32 can still hold
my_scores = [80, 0, 0, 0, 0, 0, 0, 0]


# %% wrong_equal
# WRONG: large and all the same
my_scores = [500] * 8


# %% wrong_one_very_low
# WRONG: a low score beside others
my_scores = [-1000, 0, 0, 0, 0, 0, 0, 0]


# %% wrong_all_masked
# WRONG: nothing to be seen at all
my_scores = [-math.inf] * 8


# %% wrong_infinite
# WRONG: no score
my_scores = [math.inf, 0, 0, 0, 0, 0, 0, 0]


# %% wrong_not_a_number
# WRONG: not a number
my_scores = [float("nan"), 0, 0, 0, 0, 0, 0, 0]


# %% wrong_seven
# WRONG: a score too few
my_scores = [200, 0, 0, 0, 0, 0, 0]


# %% wrong_none
# WRONG: nothing
my_scores = None


# %% wrong_text
# WRONG: a text of eight letters
my_scores = "20000000"


# %% wrong_words
# WRONG: a text among numbers
my_scores = ["200", 0, 0, 0, 0, 0, 0, 0]


# %% wrong_nested
# WRONG: rows of scores
my_scores = torch.full((8, 8), 200.0)


# %% wrong_beyond_float
# WRONG: a whole number that no float holds
my_scores = [10**400, 0, 0, 0, 0, 0, 0, 0]
