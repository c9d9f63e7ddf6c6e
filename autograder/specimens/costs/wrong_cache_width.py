# exercise: kv_cache_bytes
# WRONG: the whole width D
# SAYS: Keys and values are counted D wide. They are num_key_value_heads x head_dim wide.
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    return 2 * L * D * 1 * tokens * batch * bytes_per_value
