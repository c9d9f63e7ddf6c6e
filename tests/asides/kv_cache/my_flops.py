# Answers to "Check what you read" of the KV cache day, a step that costs the same. How they are judged: tests/test_asides.py.


# %% right_literal
# RIGHT: on paper
my_flops = (2_146_304, 4_726_784)


# %% right_from_the_shapes
# RIGHT: matrices, and a score and a use for each key
layer = 2 * 128 * 128 + 2 * 128 * 64 + 3 * 128 * 352
my_flops = tuple(2 * (5 * layer + 1024 * 128) + 4 * 5 * 4 * 32 * tokens for tokens in (16, 1024))


# %% right_from_the_config
# RIGHT: with the names of the configuration
c = tiny.config
q, kv, D = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim, c.hidden_size
matrices = c.num_hidden_layers * (2 * D * q + 2 * D * kv + 3 * D * c.intermediate_size) + c.vocab_size * D
my_flops = (2 * matrices + 4 * c.num_hidden_layers * q * 16, 2 * matrices + 4 * c.num_hidden_layers * q * 1024)


# %% wrong_flops_as_they_are
# WRONG: the cell's own
my_flops = (0, 0)


# %% wrong_the_same
# WRONG: the sentence believed
my_flops = (2_105_344, 2_105_344)


# %% wrong_multiply_adds
# WRONG: not doubled
my_flops = (1_073_152, 2_363_392)


# %% wrong_one_key_too_few
# WRONG: without the new one
my_flops = (2_143_744, 4_724_224)


# %% wrong_key_heads
# WRONG: scores counted for the key/value heads
my_flops = (2_105_344 + 16 * 1_280, 2_105_344 + 1024 * 1_280)


# %% wrong_scores_only
# WRONG: the sum of the values is forgotten
my_flops = (2_105_344 + 16 * 1_280, 4_726_784)


# %% wrong_first_only
# WRONG: one of the two
my_flops = (2_146_304, 2_146_304)


# %% wrong_exchanged
# WRONG: in the other order
my_flops = (4_726_784, 2_146_304)


# %% wrong_without_the_head
# WRONG: the head is forgotten
my_flops = (2_146_304 - 262_144, 4_726_784 - 262_144)


# %% wrong_nan
# WRONG: no numbers
my_flops = (math.nan, math.nan)


# %% wrong_three
# WRONG: three numbers for two
my_flops = (2146304, 4726784, 0)
