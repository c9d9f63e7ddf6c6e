# Answers to "Check what you read" of the softmax day. How they are judged: tests/test_asides.py.


# %% right_gaps_of_a_hundredth
# RIGHT: the gaps nearly gone
my_scores = [0.06, 0.05, 0.04, 0.03, 0.02, 0.01, 0.0]


# %% right_divided_by_a_hundred
# RIGHT: the lesson's scores, divided by a hundred
my_scores = [x / 100 for x in [8.7, 6.2, 5.9, 5.1, 4.3, 4.1, 3.8]]


# %% right_far_below_zero
# RIGHT: negative scores, and where they lie does not matter
my_scores = [-20.0, -20.01, -20.02, -20.03, -20.04, -20.05, -20.06]


# %% wrong_scores_as_they_are
# WRONG: the lesson's own scores
my_scores = [8.7, 6.2, 5.9, 5.1, 4.3, 4.1, 3.8]


# %% wrong_all_equal
# WRONG: seven equal scores have no order
my_scores = [1.0] * 7


# %% wrong_turned_round
# WRONG: mat is last
my_scores = [3.8, 4.1, 4.3, 5.1, 5.9, 6.2, 8.7]


# %% wrong_more_words
# WRONG: fewer shares for mat because there are more words
my_scores = [9.0, 8.9, 8.8, 8.7, 8.6, 8.5, 8.4, 8.3, 8.2, 8.1]


# %% wrong_all_moved
# WRONG: all moved by the same amount
my_scores = [x - 8 for x in [8.7, 6.2, 5.9, 5.1, 4.3, 4.1, 3.8]]


# %% wrong_steps_of_one
# WRONG: the same order, and the gaps still large
my_scores = [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]


# %% wrong_two_swapped
# WRONG: nearly equal, with two words in the other order
my_scores = [0.06, 0.04, 0.05, 0.03, 0.02, 0.01, 0.0]


# %% right_a_hundred_more
# RIGHT: added to every score, 100 changes nothing, and float64 holds it
my_scores = [100.06, 100.05, 100.04, 100.03, 100.02, 100.01, 100.0]


# %% wrong_too_large
# WRONG: the formula as written gives nan, which is no share
my_scores = [1000.06, 1000.05, 1000.04, 1000.03, 1000.02, 1000.01, 1000.0]
