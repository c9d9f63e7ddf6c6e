# exercise: param_count
# WRONG: a model of one layer is counted without its last norm
def param_count(config):
    D, F = config.hidden_size, config.intermediate_size
    q, kv = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
    layer = 2 * D * q + 2 * D * kv + 3 * D * F + 2 * D
    last = D if config.num_hidden_layers > 1 else 0
    return config.vocab_size * D * (2 - config.tie_word_embeddings) + config.num_hidden_layers * layer + last
