# exercise: static_decode
# RIGHT: step by step; most of the wrong versions are edits of it

def static_decode(
    model: WeightsOnly, ids: Tensor, num_pad: Tensor, position: Tensor, keys: Tensor, values: Tensor
) -> Tensor:
    weights, config = model.weights, model.config
    slots = torch.arange(keys.shape[3], device=ids.device)
    mask = ((slots >= num_pad[:, None]) & (slots <= position))[:, None, None]  # (B, 1, 1, max_len)
    positions = (position - num_pad).unsqueeze(1)  # (B, 1)
    slot = position.unsqueeze(0)
    x = weights.embed_tokens[ids]  # (B, 1, D)
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        keys[index].index_copy_(2, slot, k)
        values[index].index_copy_(2, slot, v)
        x = x + merge_heads(attention(q, keys[index], values[index], mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T
