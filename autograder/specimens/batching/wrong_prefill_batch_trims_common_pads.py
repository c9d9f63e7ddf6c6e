# exercise: prefill_batch
# WRONG: cuts off columns that hold pads in all rows, so the cache has fewer slots than num_pad counts with
def prefill_batch(model, ids, num_pad, cache):
    weights, config = model.weights, model.config
    if cache.length == 0 and int(num_pad.min()) > 0:  # columns that are pads in every row
        ids, num_pad = ids[:, int(num_pad.min()) :], num_pad - num_pad.min()
    positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
    x = weights.embed_tokens[ids]
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T
