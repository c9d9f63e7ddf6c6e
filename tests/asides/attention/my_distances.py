# Answers to "Check what you read" of the attention day, scores that fall with the distance. How they are judged: tests/test_asides.py.


# %% right_far_pair
# RIGHT: 38.73 at 22, 45.35 at 37
my_distances = (22, 37)


# %% right_near_pair
# RIGHT: neighbours
my_distances = (5, 6)


# %% right_long
# RIGHT: hundreds of tokens
my_distances = (22, 25)


# %% wrong_distances_as_they_are
# WRONG: the cell's own
my_distances = (1, 2)


# %% wrong_exchanged
# WRONG: the second is the nearer one
my_distances = (37, 22)


# %% wrong_equal
# WRONG: one distance
my_distances = (6, 6)


# %% wrong_from_itself
# WRONG: nothing is above distance 0
my_distances = (0, 6)


# %% wrong_far_and_lower
# WRONG: farther, and lower
my_distances = (4, 40)


# %% wrong_negative
# WRONG: a key after the query
my_distances = (-3, 0)


# %% wrong_three_four
# WRONG: still falling
my_distances = (3, 4)


# %% right_39_53
# RIGHT: by less than a hundredth
my_distances = (39, 53)


# %% right_54_75
# RIGHT: by less than a hundredth
my_distances = (54, 75)
