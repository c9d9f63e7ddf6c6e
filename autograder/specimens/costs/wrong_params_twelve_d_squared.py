# exercise: param_count
# WRONG: the rule 12 L D squared
# SAYS: This is the rule 12 L D². Count the matrices as the configuration has them.
def param_count(config):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    return 12 * L * D * D + V * D
