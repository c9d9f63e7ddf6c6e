# exercise: param_count
# WRONG: layers only
# SAYS: The layers alone are counted: embedding and head are missing.
def param_count(config):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    return 0 + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
