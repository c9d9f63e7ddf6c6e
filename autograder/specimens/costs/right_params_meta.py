# exercise: param_count
# RIGHT: tensors on the meta device
def param_count(config):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    def numel(*s):
        return torch.empty(*s, device="meta").numel()
    layer = numel(2, H * Dh, D) + numel(2, K * Dh, D) + numel(3, F, D) + numel(2, D)
    return numel(V, D) * (2 - bool(c.tie_word_embeddings)) + L * layer + numel(D)
