# exercise: kv_cache_bytes
# WRONG: never more than the context of the model
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    return 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * min(tokens, config.max_position_embeddings) * batch * bytes_per_value
