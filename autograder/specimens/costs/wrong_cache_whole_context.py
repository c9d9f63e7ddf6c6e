# exercise: kv_cache_bytes
# WRONG: never more tokens than the model accepts, whatever is asked
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    tokens = min(tokens, config.max_position_embeddings)
    return 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * tokens * batch * bytes_per_value
