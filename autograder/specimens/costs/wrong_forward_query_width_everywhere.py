# exercise: forward_flops
# WRONG: k and v as wide as q
# SAYS: k and v are counted as wide as q. They have num_key_value_heads heads.
def forward_flops(config, t):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    return 2 * (t * (L * (4 * D * H * Dh + 3 * D * F) + V * D) + L * (2 * t * t * H * Dh))
