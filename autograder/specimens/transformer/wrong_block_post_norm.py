# exercise: decoder_block
# WRONG: norms after the sums, as in the first transformer
# SAYS: The norms stand after the sums: here they stand before each part.
def decoder_block(x, layer, config, positions, attend=None):
    T = x.shape[1]
    normed = x
    q = split_heads(normed @ layer.q_proj.T, config.num_attention_heads)
    k = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)
    v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
    q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
    read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
    x = rms_norm(x + merge_heads(read) @ layer.o_proj.T, layer.input_layernorm, config.rms_norm_eps)
    return rms_norm(x + feed_forward(x, layer.gate_proj, layer.up_proj, layer.down_proj), layer.post_attention_layernorm, config.rms_norm_eps)
