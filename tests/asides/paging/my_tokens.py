# Tokens that refute "any fast hash will do": another text with the same polynomial name. How they are judged: tests/test_asides.py.


# %% right_twice
# RIGHT: the trick done twice
my_tokens = [501, 470, 503, 472]


# %% right_three_times
# RIGHT: the trick done at each place but the last
my_tokens = [501, 471, 472, 472]


# %% right_the_other_way
# RIGHT: one less, and 31 more behind it
my_tokens = (499, 532, 501, 534)


# %% right_tensor
# RIGHT: as a tensor
my_tokens = torch.tensor([502, 439, 505, 410])


# %% right_far
# RIGHT: many times 31
my_tokens = [490, 811, 492, 813]


# %% wrong_as_released
# WRONG: the cell's own: the same tokens in another order
my_tokens = [503, 502, 501, 500]


# %% wrong_the_lessons_pair
# WRONG: two tokens are those of mine
my_tokens = [500, 501, 503, 472]


# %% wrong_three_differ
# WRONG: the last token is that of mine
my_tokens = [501, 471, 471, 503]


# %% wrong_mine
# WRONG: the text itself
my_tokens = [500, 501, 502, 503]


# %% wrong_same_sum
# WRONG: all tokens differ, and so do the names
my_tokens = [501, 502, 501, 502]


# %% wrong_upside_down
# WRONG: 31 more in front, and one less behind it
my_tokens = [531, 500, 533, 502]


# %% wrong_negative
# WRONG: a token below 0
my_tokens = [517, -26, 502, 503]


# %% wrong_longer
# WRONG: five tokens
my_tokens = [0, 501, 470, 503, 472]


# %% wrong_three_tokens
# WRONG: three tokens
my_tokens = [16001, 502, 503]


# %% wrong_outside_the_vocabulary
# WRONG: a token that there is not
my_tokens = [10**30, 0, 0, 0]


# %% wrong_floats
# WRONG: numbers that are no tokens
my_tokens = [501.0, 470.0, 503.0, 472.0]


# %% wrong_truth
# WRONG: truth values
my_tokens = [True, False, True, False]


# %% wrong_text
# WRONG: a text
my_tokens = "501 470 503 472"


# %% wrong_none
# WRONG: nothing
my_tokens = None


# %% wrong_a_number
# WRONG: the name itself
my_tokens = 15393026


# %% wrong_not_a_number
# WRONG: not a number
my_tokens = [float("nan"), 470, 503, 472]


# %% wrong_rows
# WRONG: a row of rows
my_tokens = [[501, 470, 503, 472]]
