# exercise: forward_flops
# WRONG: never more tokens than the model accepts, whatever is asked
def forward_flops(config, t):
    t = min(t, config.max_position_embeddings)
    D, F = config.hidden_size, config.intermediate_size
    q, kv = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
    weights = config.num_hidden_layers * (2 * D * q + 2 * D * kv + 3 * D * F) + config.vocab_size * D
    return 2 * (t * weights + config.num_hidden_layers * 2 * t * t * q)
