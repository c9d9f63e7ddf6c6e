# exercise: param_count
# RIGHT: a loop over layers
def param_count(config):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    total = V * D + D
    for _ in range(L):
        total += D * Dh * (H + K + K + H) + F * D * 3 + D + D
    return total if c.tie_word_embeddings else total + V * D
