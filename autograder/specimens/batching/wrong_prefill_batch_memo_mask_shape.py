# exercise: prefill_batch
# WRONG: positions and mask are remembered by id(num_pad) and place: a num_pad changed in place, or a new one at the same address, gets an old mask
def prefill_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    """Put left-padded prompts (or their next chunk) into the cache; the logits of the token that follows each row.

    ids (B, t) int64, num_pad (B,) -> (B, V): each row as if it were alone, and so are its keys in the cache, turned by
    the row's own positions. The rows end together, so the last column belongs to every row's last token; only there
    is the head computed. Raises CacheFull.
    """
    weights, config = model.weights, model.config
    memo = prefill_batch.__dict__.setdefault("memo", {})
    key = (id(num_pad), cache.length, ids.shape[1])
    if key not in memo:
        memo[key] = positions_and_mask(num_pad, cache.length, ids.shape[1])
    positions, mask = memo[key]
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
    return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T
