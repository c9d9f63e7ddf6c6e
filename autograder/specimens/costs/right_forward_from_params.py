# exercise: forward_flops
# RIGHT: weights of the matrices out of param_count
def forward_flops(config, t):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    matrices = param_count(config) - (2 * L + 1) * D - (0 if c.tie_word_embeddings else V * D)
    return 2.0 * t * matrices + 4.0 * L * H * Dh * t**2
