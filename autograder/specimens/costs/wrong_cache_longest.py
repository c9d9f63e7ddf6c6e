# exercise: kv_cache_bytes
# WRONG: tokens rounded up to max_position_embeddings
# SAYS: The whole context of the model is counted. The function is told how many tokens there are.
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    return 2 * L * K * Dh * c.max_position_embeddings * batch * bytes_per_value
