# Logits for which each rank's own softmax chooses wrongly. How they are judged: tests/test_asides.py.


# %% right_close_rivals
# RIGHT: the best has close rivals beside it
my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]


# %% right_two
# RIGHT: nobody beside either
my_logits = [1, 2]


# %% right_both_certain
# RIGHT: both say 1
my_logits = [50, 0, 0, 60, 0, 0]


# %% right_on_the_other_rank
# RIGHT: the best lies on rank 1
my_logits = [-8.0, 1.0, 2.0, 1.9]


# %% right_tensor
# RIGHT: a tensor
my_logits = torch.tensor([1.0, 2.0])


# %% right_range
# RIGHT: one behind the other
my_logits = range(4)


# %% wrong_as_released
# WRONG: the cell's own
my_logits = [1.0, 3.0, 0.0, 2.0, 2.5, 1.5]


# %% wrong_alone
# WRONG: the best is far above all
my_logits = [60, 0, 0, 50, 0, 0]


# %% wrong_alike
# WRONG: all alike
my_logits = [0.0] * 10


# %% wrong_same_rivals
# WRONG: both have the same rivals
my_logits = [3.0, 0.0, 0.0, 2.0, 0.0, 0.0]


# %% wrong_odd
# WRONG: an odd number
my_logits = [3.0, 2.9, 2.0]


# %% wrong_empty
# WRONG: none
my_logits = []


# %% wrong_too_many
# WRONG: more than the cell takes
my_logits = [0.0] * 49152


# %% wrong_infinite
# WRONG: infinite
my_logits = [float("-inf"), 1.0]


# %% wrong_not_a_number
# WRONG: not a number
my_logits = [float("nan"), 1.0]


# %% wrong_rows
# WRONG: a matrix
my_logits = torch.rand(2, 3)


# %% wrong_one
# WRONG: one number
my_logits = 3.0


# %% wrong_text
# WRONG: text
my_logits = "abcdef"


# %% wrong_none
# WRONG: nothing
my_logits = None
