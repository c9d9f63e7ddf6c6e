# exercise: param_count
# WRONG: head width D // H instead of head_dim
# SAYS: Head width is taken as D // H. It is head_dim, a number of its own.
def param_count(config):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    Dh = D // H
    return V * D * (1 if c.tie_word_embeddings else 2) + L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D
