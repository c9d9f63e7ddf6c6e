# Rows that refute "its perplexity is lower, so the model is even better". How they are judged: tests/test_asides.py.


# %% right_a_little_surer
# RIGHT: the tokens that come a little more, all else turned round
my_probs = [[0.01, 0.01, 0.5, 0.48], [0.48, 0.5, 0.01, 0.01]]


# %% right_nearly_certain
# RIGHT: the tokens that come, and nothing else
my_probs = [[0.003, 0.003, 0.99, 0.004], [0.003, 0.99, 0.003, 0.004]]


# %% right_one_row
# RIGHT: one row only
my_probs = [[0.3, 0.2, 0.41, 0.09], [0.003, 0.99, 0.003, 0.004]]


# %% right_tensor
# RIGHT: a tensor
my_probs = torch.tensor([[0.004, 0.3, 0.41, 0.286], [0.585, 0.405, 0.005, 0.005]])


# %% wrong_as_released
# WRONG: the cell's own
my_probs = [[0.28, 0.22, 0.39, 0.11], [0.12, 0.39, 0.29, 0.2]]


# %% wrong_the_models
# WRONG: the model's own rows
my_probs = [[0.3, 0.2, 0.4, 0.1], [0.1, 0.4, 0.3, 0.2]]


# %% wrong_as_high
# WRONG: far away, with the same perplexity
my_probs = [[0.01, 0.58, 0.4, 0.01], [0.01, 0.4, 0.58, 0.01]]


# %% wrong_lower_and_near
# WRONG: a lower perplexity, and near
my_probs = [[0.25, 0.2, 0.45, 0.1], [0.1, 0.45, 0.25, 0.2]]


# %% wrong_other_tokens
# WRONG: certain of tokens that do not come
my_probs = [[0.97, 0.01, 0.01, 0.01], [0.97, 0.01, 0.01, 0.01]]


# %% wrong_even
# WRONG: all alike
my_probs = [[0.25] * 4] * 2


# %% wrong_zeros
# WRONG: with zeros
my_probs = [[0, 0, 1, 0], [0, 1, 0, 0]]


# %% wrong_per_cent
# WRONG: in per cent
my_probs = [[1, 1, 50, 48], [48, 50, 1, 1]]


# %% wrong_three_rows
# WRONG: a row too many
my_probs = [[0.01, 0.01, 0.5, 0.48], [0.48, 0.5, 0.01, 0.01], [0.25] * 4]


# %% wrong_one_row_alone
# WRONG: one row in place of two
my_probs = [0.01, 0.01, 0.5, 0.48]


# %% wrong_ragged
# WRONG: rows of two lengths
my_probs = [[0.01, 0.01, 0.5, 0.48], [0.48, 0.52]]


# %% wrong_negative
# WRONG: a number below 0
my_probs = [[-0.5, 0.5, 0.5, 0.5], [0.48, 0.5, 0.01, 0.01]]


# %% wrong_not_a_number
# WRONG: not a number
my_probs = [[float("nan")] * 4] * 2


# %% wrong_text
# WRONG: text
my_probs = "0.01 0.01 0.5 0.48"


# %% wrong_none
# WRONG: nothing
my_probs = None
