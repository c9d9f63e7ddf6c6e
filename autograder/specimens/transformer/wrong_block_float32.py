# exercise: decoder_block
# WRONG: float64 comes back as float32
# SAYS: float64 comes back as float32: keep the dtype of x.
def decoder_block(x, layer, config, positions, attend=None):
    T = x.shape[1]
    normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q = split_heads(normed @ layer.q_proj.T, config.num_attention_heads)
    k = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)
    v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
    q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
    read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
    x = x + merge_heads(read) @ layer.o_proj.T
    normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return (x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)).float()
