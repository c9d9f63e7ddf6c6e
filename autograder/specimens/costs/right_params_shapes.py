# exercise: param_count
# RIGHT: lists every tensor's shape and adds products
def param_count(config):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    import math
    shapes = [(V, D), (D,)] + ([] if c.tie_word_embeddings else [(V, D)])
    shapes += L * [(D,), (D,), (H * Dh, D), (K * Dh, D), (K * Dh, D), (D, H * Dh), (F, D), (F, D), (D, F)]
    return sum(math.prod(s) for s in shapes)
