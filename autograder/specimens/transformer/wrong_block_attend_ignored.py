# exercise: decoder_block
# WRONG: attend is ignored: the layer always reads causally
def decoder_block(x, layer, config, positions, attend=None):
    T = x.shape[1]
    h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q = split_heads(h @ layer.q_proj.T, config.num_attention_heads)
    k = split_heads(h @ layer.k_proj.T, config.num_key_value_heads)
    v = split_heads(h @ layer.v_proj.T, config.num_key_value_heads)
    turned = [rotary(part, positions, config.rope_theta) for part in (q, k)]
    read = attention(*turned, v, causal_mask(T, T).to(x.device)) if attend is None else attention(*turned, v, causal_mask(T, T).to(x.device))
    x = x + merge_heads(read) @ layer.o_proj.T
    h = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)
