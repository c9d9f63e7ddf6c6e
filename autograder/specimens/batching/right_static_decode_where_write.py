# exercise: static_decode
# RIGHT: the new slot is written with torch.where over all slots, in place; attention by scaled_dot_product_attention
def static_decode(
    model: WeightsOnly, ids: Tensor, num_pad: Tensor, position: Tensor, keys: Tensor, values: Tensor
) -> Tensor:
    """`decode_batch` with every shape and address fixed: the form that a GPU can record once and replay.

    ids (B, 1) int64, num_pad (B,), position () int64: the slot of the new token, in a tensor, so that no step asks
    the device for it. keys, values (L, B, K, max_len, Dh): slots before `position` are filled; the new keys and values are
    written into slot `position` in place. All max_len slots are read, the pads and those after `position` masked, so what
    they hold does not matter as long as it is finite -> logits (B, V).
    """
    weights, config = model.weights, model.config
    slots = torch.arange(keys.shape[3], device=ids.device)
    mask = ((slots >= num_pad[:, None]) & (slots <= position))[:, None, None]  # (B, 1, 1, max_len)
    positions = (position - num_pad).unsqueeze(1)  # (B, 1)
    here = (slots == position)[:, None]
    x = weights.embed_tokens[ids]  # (B, 1, D)
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        keys[index].copy_(torch.where(here, k, keys[index]))
        values[index].copy_(torch.where(here, v, values[index]))
        x = x + merge_heads(torch.nn.functional.scaled_dot_product_attention(q, keys[index], values[index], attn_mask=mask, enable_gqa=True)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T
