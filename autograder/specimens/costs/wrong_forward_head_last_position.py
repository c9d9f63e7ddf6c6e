# exercise: forward_flops
# WRONG: the head at the last position only
# SAYS: The head is counted at the last position. Count it at every position.
def forward_flops(config, t):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    return 2 * (t * L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D + L * 2 * t * t * H * Dh)
