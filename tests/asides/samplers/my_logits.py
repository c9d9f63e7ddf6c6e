# Answers to "Check what you read" of the samplers day, a temperature that gives to all the others. How they are judged: tests/test_asides.py.


# %% right_two_good_ones
# RIGHT: the second falls with the first
my_logits = [2.0, 1.9, 0.0, 0.0, 0.0]


# %% right_wide
# RIGHT: many poor ones
my_logits = [8.0, 7.0] + [0.0] * 1000


# %% right_best_last
# RIGHT: the best need not come first
my_logits = [-1.0] * 30 + [3.5, 4.0]


# %% right_whole_numbers
# RIGHT: integers
my_logits = [6, 5] + 200 * [0]


# %% wrong_logits_as_they_are
# WRONG: the cell's own
my_logits = [2.0, -1.5, 0.3, 4.2, -0.8]


# %% wrong_two_tokens
# WRONG: of two the second gains
my_logits = [2.0, 1.0]


# %% wrong_ties_for_the_best
# WRONG: both are the best
my_logits = [2.0, 2.0, 0.0, 0.0, 0.0]


# %% wrong_all_equal
# WRONG: nothing moves
my_logits = [1.0, 1.0, 1.0, 1.0]


# %% wrong_one_token
# WRONG: one token has it all
my_logits = [3.0]


# %% wrong_empty
# WRONG: no tokens
my_logits = []


# %% wrong_nan
# WRONG: not a number
my_logits = [2.0, math.nan, 0.0, 0.0]


# %% wrong_infinite
# WRONG: a forbidden token is no fair test
my_logits = [2.0, 1.9, 0.0, 0.0, -math.inf]


# %% wrong_far_ahead
# WRONG: the best is so far ahead that all others gain
my_logits = [20.0, 5.0, 1.0, 0.0]


# %% right_by_a_hair
# RIGHT: the second is behind the best, by however little, and loses
my_logits = [2.0, 1.9999, 0.0, 0.0, 0.0]


# %% wrong_three_best
# WRONG: all that lose are as good as the best
my_logits = [2.0, 2.0, 2.0, 0.0, 0.0]


# %% right_near_tie
# RIGHT: behind the best by half a thousandth
my_logits = [2.0, 1.9995, 0.0, 0.0, 0.0]
