# exercise: kv_cache_bytes
# WRONG: the scores kept as well: squared in the tokens
# SAYS: The scores are counted as kept. The cache keeps keys and values alone.
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    return 2 * L * K * Dh * tokens * tokens * batch * bytes_per_value
