# Answers to "Check what you read" of the transformer day, where the weights are. How they are judged: tests/test_asides.py.


# %% right_literal
# RIGHT: the two numbers
my_counts = (49_152, 135_168)


# %% right_from_the_config
# RIGHT: from the config
c = tiny.config
heads = 2 * c.num_attention_heads * c.head_dim + 2 * c.num_key_value_heads * c.head_dim
my_counts = (c.hidden_size * heads, 3 * c.hidden_size * c.intermediate_size)


# %% right_from_the_tensors
# RIGHT: from the tensors themselves
first = tiny.weights.layers[0]
my_counts = (
    sum(w.numel() for w in (first.q_proj, first.k_proj, first.v_proj, first.o_proj)),
    sum(w.numel() for w in (first.gate_proj, first.up_proj, first.down_proj)),
)


# %% wrong_counts_as_they_are
# WRONG: the cell's own
my_counts = (0, 0)


# %% wrong_exchanged
# WRONG: in the other order
my_counts = (135_168, 49_152)


# %% wrong_no_sharing
# WRONG: as many key/value heads as query heads
my_counts = (4 * 128 * 128, 3 * 352 * 128)


# %% wrong_two_matrices
# WRONG: feed-forward without its gate
my_counts = (49_152, 2 * 352 * 128)


# %% wrong_without_output
# WRONG: o_proj is forgotten
my_counts = (128 * 128 + 2 * 64 * 128, 135_168)


# %% wrong_four_times_the_width
# WRONG: F = 4D
my_counts = (49_152, 3 * 512 * 128)


# %% wrong_all_layers
# WRONG: of all five layers
my_counts = (5 * 49_152, 5 * 135_168)


# %% wrong_with_norms
# WRONG: the two norms are counted too
my_counts = (49_152 + 128, 135_168 + 128)


# %% right_list
# RIGHT: the two in a list
my_counts = [49152, 135168]
