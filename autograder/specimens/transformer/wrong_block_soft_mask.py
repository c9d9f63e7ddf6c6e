# exercise: decoder_block
# WRONG: forbidden scores get -1e4 added instead of -inf, so a very high score of a later token still leaks
def decoder_block(x, layer, config, positions, attend=None):
    B, T = x.shape[:2]
    normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q = split_heads(normed @ layer.q_proj.T, config.num_attention_heads)
    k = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)
    v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
    q = rotary(q, positions, config.rope_theta)
    k = rotary(k, positions, config.rope_theta)
    group = config.num_attention_heads // config.num_key_value_heads
    keys, values = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    scores = q * config.head_dim**-0.5 @ keys.transpose(-2, -1)
    scores = scores + (~causal_mask(T, T).to(x.device)).to(scores.dtype) * -1e4
    read = torch.softmax(scores, dim=-1) @ values
    x = x + merge_heads(read) @ layer.o_proj.T
    normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
