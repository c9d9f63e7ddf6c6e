# Inputs for "Find the bug" of the softmax day, something tiny inside the logarithm. How they are judged: tests/test_asides.py.


# %% right_whole_vocabulary
# RIGHT: SmolLM2's vocabulary, all alike
my_probs = torch.full((49_152,), 1 / 49_152)


# %% right_more_tokens_in_float64
# RIGHT: ten times as many, in float64
my_probs = torch.full((500_000,), 1 / 500_000, dtype=torch.float64)


# %% right_half_sure
# RIGHT: one token has half, the rest is a long tail
my_probs = torch.cat([torch.tensor([0.5]), torch.full((40_000,), 0.5 / 40_000)])


# %% right_random_logits
# RIGHT: the softmax of small random logits over a vocabulary
my_probs = torch.softmax(torch.randn(49_152, generator=torch.Generator().manual_seed(0)), dim=-1)


# %% wrong_as_it_is
# WRONG: the cell's own
my_probs = torch.tensor([0.5, 0.5, 0.0])


# %% wrong_certain
# WRONG: below 0, but by a millionth only
my_probs = torch.tensor([1.0, 0.0, 0.0])


# %% wrong_many_zeros
# WRONG: a whole vocabulary of which one token has everything
my_probs = torch.nn.functional.one_hot(torch.tensor(3), 49_152).float()


# %% wrong_a_thousand
# WRONG: too few tokens
my_probs = torch.full((1_000,), 1 / 1_000)


# %% wrong_tiny_ones
# WRONG: a few very small probabilities
my_probs = torch.tensor([1 - 3e-6, 1e-6, 1e-6, 1e-6])


# %% wrong_not_a_distribution
# WRONG: a hundred thousand tokens that sum to 100
my_probs = torch.full((100_000,), 1e-3)


# %% wrong_negative
# WRONG: a negative probability
my_probs = torch.tensor([1.5, -0.5])


# %% wrong_two_rows
# WRONG: two rows where one was asked
my_probs = torch.full((2, 49_152), 1 / 49_152)


# %% wrong_logits
# WRONG: logits in place of probabilities
my_probs = torch.tensor([8.7, 6.2, 5.9])


# %% wrong_nan
# WRONG: nothing that sums to 1
my_probs = torch.tensor([0.5, 0.5, float("nan")])


# %% wrong_nan0
# WRONG: 0/0 in every place
my_probs = torch.zeros(3) / torch.zeros(3)
