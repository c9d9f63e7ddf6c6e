# exercise: param_count
# WRONG: k and v as wide as q under GQA
# SAYS: k and v are counted as wide as q. They have num_key_value_heads heads.
def param_count(config):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    return V * D * (1 if c.tie_word_embeddings else 2) + L * (4 * D * H * Dh + 3 * D * F + 2 * D) + D
