# exercise: forward_cached
# WRONG: positions are made in the model's dtype: in bfloat16 every odd position above 256 is rounded away
def forward_cached(model, ids, cache):
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(start, start + t, dtype=weights.embed_tokens.dtype, device=ids.device)
    mask = causal_mask(t, start + t).to(ids.device)
    x = weights.embed_tokens[ids]
    for index, layer in enumerate(weights.layers):
        h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(h @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(h @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(h @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        h = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
