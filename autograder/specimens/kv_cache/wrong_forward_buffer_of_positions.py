# exercise: forward_cached
# WRONG: positions are cut from a buffer of 2,048
def forward_cached(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(2048, device=ids.device)[start : start + t]
    mask = causal_mask(t, start + t).to(ids.device)  # aligned at the end: the new tokens are the last
    x = weights.embed_tokens[ids]  # (B, t, D)
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)  # (B, K, t, Dh) -> (B, K, start+t, Dh)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, t, V)
