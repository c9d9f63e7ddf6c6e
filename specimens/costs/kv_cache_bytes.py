# Versions of kv_cache_bytes, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_cache_tensors
# RIGHT: the size of tensors on the meta device
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value


# %% right_cache_apart
# RIGHT: keys and values apart
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    keys = values = L * K * Dh * tokens * batch * bytes_per_value
    return keys + values


# %% right_cache_per_layer
# RIGHT: a loop over layers
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    total = 0
    for _ in range(L):
        total += K * Dh * tokens * batch * bytes_per_value * 2
    return total


# %% wrong_cache_at_least_one_token
# WRONG: an empty cache counted as one token
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    return 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * max(tokens, 1) * batch * bytes_per_value


# %% wrong_cache_whole_bits
# WRONG: the bits of a value are rounded to a whole number
# SAYS: bytes_per_value need not be a whole number of bits: it is rounded to one here.
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    bits = round(8 * bytes_per_value)
    return 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * tokens * batch * bits / 8


# %% wrong_cache_whole_context
# WRONG: never more tokens than the model accepts, whatever is asked
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    tokens = min(tokens, config.max_position_embeddings)
    return 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * tokens * batch * bytes_per_value


# %% wrong_kv_cache_bytes_full_context
# WRONG: never more than the context of the model
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    return 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * min(tokens, config.max_position_embeddings) * batch * bytes_per_value

# %% wrong_cache_binary, of right_cache_tensors
# WRONG: GB taken for GiB
# SAYS: A GB is taken for a GiB: the factor is 1.074. The function gives plain bytes.
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * L * K * Dh * tokens * batch * bytes_per_value * 1.024**3

# %% wrong_cache_fp16, of right_cache_tensors
# WRONG: two bytes whatever was said
# SAYS: Two bytes a value, whatever bytes_per_value says.
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * L * K * Dh * tokens * batch * 2

# %% wrong_cache_gb, of right_cache_tensors
# WRONG: GB
# SAYS: This is in GB. The function gives bytes; divide when you print.
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * L * K * Dh * tokens * batch * bytes_per_value / 1e9

# %% wrong_cache_gib, of right_cache_tensors
# WRONG: GiB
# SAYS: This is in GiB. The function gives bytes; divide when you print.
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * L * K * Dh * tokens * batch * bytes_per_value / 2**30

# %% wrong_cache_head_width_from_division, of right_cache_tensors
# WRONG: D // H for head_dim
# SAYS: Head width is taken as D // H. It is head_dim, a number of its own.
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * L * K * (D // H) * tokens * batch * bytes_per_value

# %% wrong_cache_k_or_v, of right_cache_tensors
# WRONG: one of keys and values: factor 2 forgotten
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 1 * L * K * Dh * tokens * batch * bytes_per_value

# %% wrong_cache_longest, of right_cache_tensors
# WRONG: tokens rounded up to max_position_embeddings
# SAYS: The whole context of the model is counted. The function is told how many tokens there are.
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * L * K * Dh * c.max_position_embeddings * batch * bytes_per_value

# %% wrong_cache_no_batch, of right_cache_tensors
# WRONG: the batch forgotten
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * L * K * Dh * tokens * 1 * bytes_per_value

# %% wrong_cache_no_head_width, of right_cache_tensors
# WRONG: head width forgotten
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * L * K * 1 * tokens * batch * bytes_per_value

# %% wrong_cache_no_tokens, of right_cache_tensors
# WRONG: one token's bytes
# SAYS: These are the bytes of one token. The cache keeps `tokens` of them.
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * L * K * Dh * 1 * batch * bytes_per_value

# %% wrong_cache_one_head, of right_cache_tensors
# WRONG: one head
# SAYS: One head is counted. A layer keeps num_key_value_heads of them.
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * L * 1 * Dh * tokens * batch * bytes_per_value

# %% wrong_cache_one_layer, of right_cache_tensors
# WRONG: one layer
# SAYS: One layer is counted. The model has num_hidden_layers.
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * 1 * K * Dh * tokens * batch * bytes_per_value

# %% wrong_cache_queries_too, of right_cache_tensors
# WRONG: queries kept as well
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return L * (2 * K + H) * Dh * tokens * batch * bytes_per_value

# %% wrong_cache_query_heads, of right_cache_tensors
# WRONG: query heads under GQA
# SAYS: Query heads are counted. The cache keeps num_key_value_heads heads.
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * L * H * Dh * tokens * batch * bytes_per_value

# %% wrong_cache_square, of right_cache_tensors
# WRONG: the scores kept as well: squared in the tokens
# SAYS: The scores are counted as kept. The cache keeps keys and values alone.
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * L * K * Dh * tokens * tokens * batch * bytes_per_value

# %% wrong_cache_whole_bytes, of right_cache_tensors
# WRONG: half a byte rounded down
# SAYS: bytes_per_value may be 0.5: it is rounded down here.
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * L * K * Dh * tokens * batch * int(bytes_per_value)

# %% wrong_cache_width, of right_cache_tensors
# WRONG: the whole width D
# SAYS: Keys and values are counted D wide. They are num_key_value_heads x head_dim wide.
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return 2 * L * D * 1 * tokens * batch * bytes_per_value

# %% wrong_cache_whole_sum, of right_cache_tensors
# WRONG: the sum is cut to whole bytes, though weights and caches of 4.5 bits a value come with a fraction
# -     return 2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value
# +     return int(2 * L * torch.empty((batch, K, tokens, Dh), device='meta').numel() * bytes_per_value)


# %% wrong_cache_float32
# WRONG: the product is taken in float32, which has 24 bits
# SAYS: The product is taken in float32, which has 24 bits. Python's numbers lose no digit here.
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    values = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim
    return torch.tensor([values, tokens, batch, bytes_per_value], dtype=torch.float32).prod().item()
