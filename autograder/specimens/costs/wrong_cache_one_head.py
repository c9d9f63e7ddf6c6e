# exercise: kv_cache_bytes
# WRONG: one head
# SAYS: One head is counted. A layer keeps num_key_value_heads of them.
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    return 2 * L * 1 * Dh * tokens * batch * bytes_per_value
