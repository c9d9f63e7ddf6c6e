# exercise: decoder_block
# WRONG: only the last 64 tokens are read
# SAYS: Only the last 64 tokens are read: a token reads everything before it.
def decoder_block(x, layer, config, positions, attend=None):
    T = x.shape[1]
    h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q = split_heads(h @ layer.q_proj.T, config.num_attention_heads)
    k = split_heads(h @ layer.k_proj.T, config.num_key_value_heads)
    v = split_heads(h @ layer.v_proj.T, config.num_key_value_heads)
    q = rotary(q, positions, config.rope_theta)
    k = rotary(k, positions, config.rope_theta)
    a = attention(q, k, v, causal_mask(T, T).to(x.device).triu(-63)) if attend is None else attend(q, k, v)
    x = x + merge_heads(a) @ layer.o_proj.T
    h = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)
