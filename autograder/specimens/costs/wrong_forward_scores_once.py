# exercise: forward_flops
# WRONG: scores of one layer only
# SAYS: The scores of one layer are counted. Every layer has its own.
def forward_flops(config, t):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    return 2 * (t * (L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F) + V * D) + 2 * t * t * H * Dh)
