# Versions of forward_flops, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_forward_from_params
# RIGHT: weights of the matrices out of param_count
def forward_flops(config, t):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
    return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2


# %% right_forward_counter
# RIGHT: torch's own counter over products on the meta device
def forward_flops(config, t):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    from torch.utils.flop_counter import FlopCounterMode
    def m(*s):
        return torch.empty(*s, device="meta")
    with FlopCounterMode(display=False) as counter:
        for _ in range(L):
            m(t, D) @ m(D, H * Dh), m(t, D) @ m(D, K * Dh), m(t, D) @ m(D, K * Dh)
            torch.bmm(m(H, t, Dh), m(H, Dh, t)), torch.bmm(m(H, t, t), m(H, t, Dh))
            m(t, H * Dh) @ m(H * Dh, D), m(t, D) @ m(D, F), m(t, D) @ m(D, F), m(t, F) @ m(F, D)
        m(t, D) @ m(D, V)
    return counter.get_total_flops()


# %% right_forward_products
# RIGHT: a list of matrix products (rows, inner, columns)
def forward_flops(config, t):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    layer = [(t, D, H * Dh), (t, D, K * Dh), (t, D, K * Dh), (t, H * Dh, D), (t, D, F), (t, D, F), (t, F, D)]
    layer += H * [(t, Dh, t), (t, t, Dh)]
    return 2 * sum(a * b * n for a, b, n in L * layer + [(t, D, V)])


# %% wrong_forward_context_at_most
# WRONG: never more tokens than the model accepts, whatever is asked
def forward_flops(config, t):
    t = min(t, config.max_position_embeddings)
    D, F = config.hidden_size, config.intermediate_size
    q, kv = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
    weights = config.num_hidden_layers * (2 * D * q + 2 * D * kv + 3 * D * F) + config.vocab_size * D
    return 2 * (t * weights + config.num_hidden_layers * 2 * t * t * q)


# %% wrong_forward_one_token_apart
# WRONG: one token has no attention: its score with itself is left out
def forward_flops(config, t):
    D, F = config.hidden_size, config.intermediate_size
    q, kv = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
    weights = config.num_hidden_layers * (2 * D * q + 2 * D * kv + 3 * D * F) + config.vocab_size * D
    attention = config.num_hidden_layers * 2 * t * t * q if t > 1 else 0
    return 2 * (t * weights + attention)


# %% wrong_forward_rule_of_two
# WRONG: the rule 2NT, attention left out
# SAYS: This is the rule 2NT. The exact count has attention in it, and no weight that is looked up.
def forward_flops(config, t):
    return prefill_flops(param_count(config), t)

# %% wrong_forward_causal_half, of right_forward_from_params
# WRONG: half of the scores
# SAYS: Half of the scores are counted. The plain way computes all t x t and masks half.
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D) + L * (t * (t + 1) * H * Dh))

# %% wrong_forward_embedding_too, of right_forward_from_params
# WRONG: the look-up counted as a product
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D * (1 if c.tie_word_embeddings else 2)) + L * (2 * t * t * H * Dh))

# %% wrong_forward_head_last_position, of right_forward_from_params
# WRONG: the head at the last position only
# SAYS: The head is counted at the last position. Count it at every position.
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D + L * 2 * t * t * H * Dh)

# %% wrong_forward_head_width_from_division, of right_forward_from_params
# WRONG: D // H for head_dim
# SAYS: Head width is taken as D // H. It is head_dim, a number of its own.
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     Dh = D // H
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D) + L * (2 * t * t * H * Dh))

# %% wrong_forward_kv_heads_in_scores, of right_forward_from_params
# WRONG: scores counted for key/value heads
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D) + L * (2 * t * t * K * Dh))

# %% wrong_forward_linear_attention, of right_forward_from_params
# WRONG: attention linear in t
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D) + L * (2 * t * H * Dh))

# %% wrong_forward_no_attention, of right_forward_from_params
# WRONG: scores and values left out
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D) + L * (0))

# %% wrong_forward_no_head, of right_forward_from_params
# WRONG: the head left out
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + 0) + L * (2 * t * t * H * Dh))

# %% wrong_forward_no_head_width, of right_forward_from_params
# WRONG: scores without their inner dimension
# SAYS: The inner dimension of the scores is missing: each of the t x t scores costs head_dim multiply-adds.
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D) + L * (2 * t * t * H))

# %% wrong_forward_no_output_projection, of right_forward_from_params
# WRONG: o_proj forgotten
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D) + L * (2 * t * t * H * Dh))

# %% wrong_forward_norms, of right_forward_from_params
# WRONG: norm weights counted as a product
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + V * D) + L * (2 * t * t * H * Dh))

# %% wrong_forward_one_flop, of right_forward_from_params
# WRONG: one FLOP a multiply-add
# SAYS: A multiplication and an addition count as one here. They are two FLOPs.
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 1 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D) + L * (2 * t * t * H * Dh))

# %% wrong_forward_one_head, of right_forward_from_params
# WRONG: scores of one head
# SAYS: The scores of one head are counted. Every query head has its own.
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D) + L * (2 * t * t * Dh))

# %% wrong_forward_query_width_everywhere, of right_forward_from_params
# WRONG: k and v as wide as q
# SAYS: k and v are counted as wide as q. They have num_key_value_heads heads.
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (4 * D * H * Dh + 3 * D * F) + V * D) + L * (2 * t * t * H * Dh))

# %% wrong_forward_scores_once, of right_forward_from_params
# WRONG: scores of one layer only
# SAYS: The scores of one layer are counted. Every layer has its own.
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D) + 2 * t * t * H * Dh)

# %% wrong_forward_scores_only, of right_forward_from_params
# WRONG: scores, but not the sum of values
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D) + L * (t * t * H * Dh))

# %% wrong_forward_square_attention, of right_forward_from_params
# WRONG: q and o taken for D x D
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * D + 2 * D * K * Dh + 3 * D * F) + V * D) + L * (2 * t * t * H * Dh))

# %% wrong_forward_tied_head_free, of right_forward_from_params
# WRONG: a tied head taken for free
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D * (0 if c.tie_word_embeddings else 1)) + L * (2 * t * t * H * Dh))

# %% wrong_forward_two_matrices, of right_forward_from_params
# WRONG: feed-forward of two matrices
# SAYS: The feed-forward part has three matrices: gate, up and down.
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 2 * D * F) + V * D) + L * (2 * t * t * H * Dh))

# %% wrong_forward_width_in_scores, of right_forward_from_params
# WRONG: D instead of H x Dh in the scores
# SAYS: The scores and the sum of values are counted D wide. They are H x Dh wide, all query heads together.
# -     matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
# -     return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
# +     return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D) + L * (2 * t * t * D))
