# exercise: kv_cache_bytes
# WRONG: an empty cache counted as one token
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    return 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * max(tokens, 1) * batch * bytes_per_value
