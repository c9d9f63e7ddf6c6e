# exercise: kv_cache_bytes
# WRONG: D // H for head_dim
# SAYS: Head width is taken as D // H. It is head_dim, a number of its own.
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    return 2 * L * K * (D // H) * tokens * batch * bytes_per_value
