# Versions of param_count, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_params_plain
# RIGHT: step by step; most of the wrong versions are edits of it
def param_count(config):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D


# %% right_params_loop
# RIGHT: a loop over layers
def param_count(config):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    total = V * D + D
    for _ in range(L):
        total += D * Dh * (H + K + K + H) + F * D * 3 + D + D
    return total if c.tie_word_embeddings else total + V * D


# %% right_params_meta
# RIGHT: tensors on the meta device
def param_count(config):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    def numel(*s):
        return torch.empty(*s, device="meta").numel()
    layer = numel(2, H * Dh, D) + numel(2, K * Dh, D) + numel(3, F, D) + numel(2, D)
    return numel(V, D) * (2 - bool(c.tie_word_embeddings)) + L * layer + numel(D)


# %% right_params_shapes
# RIGHT: lists every tensor's shape and adds products
def param_count(config):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    import math
    shapes = [(V, D), (D,)] + ([] if c.tie_word_embeddings else [(V, D)])
    shapes += L * [(D,), (D,), (H * Dh, D), (K * Dh, D), (K * Dh, D), (D, H * Dh), (F, D), (F, D), (D, F)]
    return sum(math.prod(s) for s in shapes)


# %% wrong_params_heads_at_least_two
# WRONG: one head is counted as two
def param_count(config):
    D, F = config.hidden_size, config.intermediate_size
    q, kv = max(config.num_attention_heads, 2) * config.head_dim, config.num_key_value_heads * config.head_dim
    layer = 2 * D * q + 2 * D * kv + 3 * D * F + 2 * D
    return config.vocab_size * D * (2 - config.tie_word_embeddings) + config.num_hidden_layers * layer + D


# %% wrong_params_last_norm_for_one_layer
# WRONG: a model of one layer is counted without its last norm
def param_count(config):
    D, F = config.hidden_size, config.intermediate_size
    q, kv = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
    layer = 2 * D * q + 2 * D * kv + 3 * D * F + 2 * D
    last = D if config.num_hidden_layers > 1 else 0
    return config.vocab_size * D * (2 - config.tie_word_embeddings) + config.num_hidden_layers * layer + last

# %% wrong_params_head_width_from_division, of right_params_plain
# WRONG: head width D // H instead of head_dim
# SAYS: Head width is taken as D // H. It is head_dim, a number of its own.
#       H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
# +     Dh = D // H

# %% wrong_params_biases, of right_params_plain
# WRONG: biases that Llama does not have
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + (H + 2 * K) * Dh + D + 3 * D * F + 2 * D) + D

# %% wrong_params_four_d, of right_params_plain
# WRONG: an intermediate size of 4 D
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * 4 * D + 2 * D) + D

# %% wrong_params_head_forgotten, of right_params_plain
# WRONG: a head of its own is never counted
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return V * D + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D

# %% wrong_params_no_embedding, of right_params_plain
# WRONG: layers only
# SAYS: The layers alone are counted: embedding and head are missing.
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return 0 + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D

# %% wrong_params_no_last_norm, of right_params_plain
# WRONG: the norm after the last layer forgotten
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + 0

# %% wrong_params_no_norms, of right_params_plain
# WRONG: norms left out
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 0) + 0

# %% wrong_params_no_output_projection, of right_params_plain
# WRONG: o_proj forgotten
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return V * D * (1 if c.tie_word_embeddings else 2) + L * (D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D

# %% wrong_params_one_layer, of right_params_plain
# WRONG: one layer instead of L
# SAYS: One layer is counted. The model has num_hidden_layers.
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return V * D * (1 if c.tie_word_embeddings else 2) + 1 * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D

# %% wrong_params_one_norm, of right_params_plain
# WRONG: one norm a layer
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + D) + D

# %% wrong_params_one_of_k_and_v, of right_params_plain
# WRONG: k counted, v forgotten
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + D * K * Dh + 3 * D * F + 2 * D) + D

# %% wrong_params_query_width_everywhere, of right_params_plain
# WRONG: k and v as wide as q under GQA
# SAYS: k and v are counted as wide as q. They have num_key_value_heads heads.
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return V * D * (1 if c.tie_word_embeddings else 2) + L * (4 * D * H * Dh + 3 * D * F + 2 * D) + D

# %% wrong_params_square_attention, of right_params_plain
# WRONG: q and o taken for D x D
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * D + 2 * D * K * Dh + 3 * D * F + 2 * D) + D

# %% wrong_params_tied_inverted, of right_params_plain
# WRONG: tied and untied exchanged
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return V * D * (2 if c.tie_word_embeddings else 1) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D

# %% wrong_params_tied_twice, of right_params_plain
# WRONG: a tied head counted again
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return 2 * V * D + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D

# %% wrong_params_twelve_d_squared, of right_params_plain
# WRONG: the rule 12 L D squared
# SAYS: This is the rule 12 L D². Count the matrices as the configuration has them.
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return 12 * L * D * D + V * D

# %% wrong_params_two_matrices, of right_params_plain
# WRONG: a feed-forward part of two matrices, no gate
# SAYS: The feed-forward part has three matrices: gate, up and down.
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 2 * D * F + 2 * D) + D

# %% wrong_params_a_float, of right_params_loop
# WRONG: a float where a number of weights is a whole number
# -     total = V * D + D
# +     total = float(V * D + D)


# %% wrong_params_float32, of right_params_plain
# WRONG: the sum is taken in float32, which has 24 bits: a large number is off by some units
# SAYS: The sum is taken in float32, which has 24 bits, so a large count is off by some weights. Use ints.
# -     return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
# +     table, layer = V * D * (1 if c.tie_word_embeddings else 2), 2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D
# +     return int(torch.tensor([table, L * layer, D], dtype=torch.float32).sum())
