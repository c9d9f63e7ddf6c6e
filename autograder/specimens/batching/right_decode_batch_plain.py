# exercise: decode_batch
# RIGHT: step by step; most of the wrong versions are edits of it

def decode_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    weights, config = model.weights, model.config
    positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
    x = weights.embed_tokens[ids]  # (B, t, D)
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)
