# exercise: param_count
# WRONG: one head is counted as two
def param_count(config):
    D, F = config.hidden_size, config.intermediate_size
    q, kv = max(config.num_attention_heads, 2) * config.head_dim, config.num_key_value_heads * config.head_dim
    layer = 2 * D * q + 2 * D * kv + 3 * D * F + 2 * D
    return config.vocab_size * D * (2 - config.tie_word_embeddings) + config.num_hidden_layers * layer + D
