# Inputs for "Find the bug" of the costs day, D for the width of the keys. How they are judged: tests/test_asides.py.


# %% right_grouped
# RIGHT: eight key/value heads for 64 query heads
my_heads = (64, 8, 128)


# %% right_one_for_all
# RIGHT: a single key/value head
my_heads = (64, 1, 128)


# %% right_wider_heads
# RIGHT: heads wider than their share of D
my_heads = (64, 64, 256)


# %% right_fewer_heads
# RIGHT: heads that do not fill D
my_heads = (16, 16, 256)


# %% wrong_heads_as_they_are
# WRONG: the cell's own
my_heads = (64, 64, 128)


# %% wrong_other_heads_of_the_same_width
# WRONG: 32 heads of 256 are 8,192 too
my_heads = (32, 32, 256)


# %% wrong_grouped_and_wide
# WRONG: grouped, and as wide as D all the same
my_heads = (64, 32, 256)


# %% wrong_one_wide_head
# WRONG: one head as wide as D
my_heads = (1, 1, 8192)


# %% wrong_more_keys_than_queries
# WRONG: there is no such model
my_heads = (8, 64, 128)


# %% wrong_not_shared_out
# WRONG: 64 query heads over 10
my_heads = (64, 10, 128)


# %% wrong_no_heads
# WRONG: nothing is kept
my_heads = (64, 0, 128)


# %% wrong_no_width
# WRONG: heads without a width
my_heads = (64, 8, 0)


# %% wrong_two
# WRONG: two numbers for three
my_heads = (64, 8)
