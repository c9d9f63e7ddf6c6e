# exercise: forward_flops
# RIGHT: a list of matrix products (rows, inner, columns)
def forward_flops(config, t):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    layer = [(t, D, H * Dh), (t, D, K * Dh), (t, D, K * Dh), (t, H * Dh, D), (t, D, F), (t, D, F), (t, F, D)]
    layer += H * [(t, Dh, t), (t, t, Dh)]
    return 2 * sum(a * b * n for a, b, n in L * layer + [(t, D, V)])
