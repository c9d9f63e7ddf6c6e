# Inputs for "Find the bug" of the steering day, a penalty that always divides. How they are judged: tests/test_asides.py.


# %% right_negative
# RIGHT: a negative logit is divided
my_logits = [-2.0, 0.5, 4.0]


# %% right_both
# RIGHT: both of those that were said
my_logits = [-1.0, 3.0, -7.5]


# %% right_last
# RIGHT: the one that was said once
my_logits = [2.2, 0.5, -0.1]


# %% right_whole_number
# RIGHT: an integer
my_logits = [-30, 1, 2]


# %% wrong_logits_as_they_are
# WRONG: the cell's own
my_logits = [2.2, 0.5, 4.0]


# %% wrong_not_said
# WRONG: the negative one has not been said
my_logits = [2.2, -0.5, 4.0]


# %% wrong_zeros
# WRONG: 0 stays 0 in both
my_logits = [0.0, 0.5, 0.0]


# %% wrong_large
# WRONG: large ones
my_logits = [1000.0, 0.5, 400.0]


# %% wrong_two
# WRONG: two logits
my_logits = [-2.0, -1.0]


# %% wrong_nan
# WRONG: not a number
my_logits = [math.nan, 0.5, -4.0]


# %% wrong_forbidden
# WRONG: a forbidden token stays forbidden
my_logits = [-math.inf, 0.5, 4.0]


# %% right_hardly
# RIGHT: by however little, a logit below 0 rises
my_logits = [-1e-9, 0.5, 4.0]


# %% right_a_tensor
# RIGHT: the logits in a tensor
my_logits = torch.tensor([-2.0, 0.5, 4.0])


# %% wrong_another_falls_further
# WRONG: token 0 becomes more likely, for token 2 falls further: its logit is lower all the same
my_logits = [2.2, 0.5, 22.0]


# %% wrong_empty
# WRONG: none
my_logits = []
