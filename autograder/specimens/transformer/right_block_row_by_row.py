# exercise: decoder_block
# RIGHT: one row of the batch at a time, one query at a time, adding into its own copy
def decoder_block(x, layer, config, positions, attend=None):
    out = x.clone()
    if attend is not None:
        h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(h @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(h @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(h @ layer.v_proj.T, config.num_key_value_heads)
        out += merge_heads(attend(q, k, v)) @ layer.o_proj.T
    for b in range(len(x)) if attend is None else ():
        row = x[b : b + 1]
        at = positions[b] if positions.dim() == 2 else positions
        h = rms_norm(row, layer.input_layernorm, config.rms_norm_eps)
        k = rotary(split_heads(h @ layer.k_proj.T, config.num_key_value_heads), at, config.rope_theta)
        v = split_heads(h @ layer.v_proj.T, config.num_key_value_heads)
        for t in range(x.shape[1]):
            q = split_heads(h[:, t : t + 1] @ layer.q_proj.T, config.num_attention_heads)
            q = rotary(q, at[t : t + 1], config.rope_theta)
            read = attention(q, k[:, :, : t + 1], v[:, :, : t + 1])
            out[b, t] += (merge_heads(read) @ layer.o_proj.T)[0, 0]
    h = rms_norm(out, layer.post_attention_layernorm, config.rms_norm_eps)
    out += feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)
    return out
