# exercise: forward_flops
# WRONG: one token has no attention: its score with itself is left out
def forward_flops(config, t):
    D, F = config.hidden_size, config.intermediate_size
    q, kv = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
    weights = config.num_hidden_layers * (2 * D * q + 2 * D * kv + 3 * D * F) + config.vocab_size * D
    attention = config.num_hidden_layers * 2 * t * t * q if t > 1 else 0
    return 2 * (t * weights + attention)
