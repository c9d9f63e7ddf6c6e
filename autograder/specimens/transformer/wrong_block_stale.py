# exercise: decoder_block
# WRONG: q, k, v projections are fused once per layer and remembered; weights changed later are not seen
_FUSED = {}


def decoder_block(x, layer, config, positions, attend=None):
    B, T = x.shape[:2]
    normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q = split_heads(normed @ layer.q_proj.T, config.num_attention_heads)
    k = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)
    v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
    q = rotary(q, positions, config.rope_theta)
    k = rotary(k, positions, config.rope_theta)
    if id(layer) not in _FUSED:
        _FUSED[id(layer)] = (torch.cat((layer.q_proj, layer.k_proj, layer.v_proj)), layer)
    fused, _ = _FUSED[id(layer)]
    H, K, Dh = config.num_attention_heads, config.num_key_value_heads, config.head_dim
    q, k, v = split_heads(normed @ fused.T, H + 2 * K).split((H, K, K), dim=1)
    q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
    read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
    x = x + merge_heads(read) @ layer.o_proj.T
    normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
