# Drafts that refute "the further you guess, the more you gain". How they are judged: tests/test_asides.py.


# %% right_middling
# RIGHT: kept rather often, and not cheap
my_draft = (0.6, 0.3)


# %% right_half
# RIGHT: four guesses lose already
my_draft = (0.5, 0.3)


# %% right_good_and_dear
# RIGHT: kept often, and dear
my_draft = [0.8, 0.45]


# %% right_at_the_edge
# RIGHT: one guess brings 1.1 exactly
my_draft = (0.65, 0.5)


# %% right_tensor
# RIGHT: a tensor
my_draft = torch.tensor([0.6, 0.3])


# %% wrong_as_released
# WRONG: the cell's own
my_draft = (0.9, 0.05)


# %% wrong_one_guess_loses
# WRONG: the first guess does not pay
my_draft = (0.3, 0.4)


# %% wrong_hardly_pays
# WRONG: the first guess brings less than 1.1
my_draft = (0.6, 0.5)


# %% wrong_eight_still_pay
# WRONG: eight bring less than four, and more than none
my_draft = (0.9, 0.6)


# %% wrong_always_right
# WRONG: alpha 1
my_draft = (1, 0.9)


# %% wrong_costs_nothing
# WRONG: no price
my_draft = (0.5, 0)


# %% wrong_negative_price
# WRONG: a price below 0
my_draft = (0.6, -0.125)


# %% wrong_per_cent
# WRONG: alpha in per cent
my_draft = (60, 0.3)


# %% wrong_one_number
# WRONG: one number
my_draft = 0.6


# %% wrong_three_numbers
# WRONG: with a k
my_draft = (0.6, 0.3, 8)


# %% wrong_not_a_number
# WRONG: not a number
my_draft = (float("nan"), 0.3)


# %% wrong_infinite_price
# WRONG: an infinite price
my_draft = (0.6, float("inf"))


# %% wrong_text
# WRONG: text
my_draft = "0.6, 0.3"


# %% wrong_none
# WRONG: nothing
my_draft = None
