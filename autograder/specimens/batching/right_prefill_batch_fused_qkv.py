# exercise: prefill_batch
# RIGHT: one product for q, k and v

def prefill_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    weights, config = model.weights, model.config
    positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
    x = weights.embed_tokens[ids]  # (B, t, D)
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        heads, groups = config.num_attention_heads, config.num_key_value_heads
        fused = split_heads(normed @ torch.cat((layer.q_proj, layer.k_proj, layer.v_proj)).T, heads + 2 * groups)
        q, k, v = fused.split((heads, groups, groups), dim=1)
        q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)
