# exercise: forward_cached
# RIGHT: positions and mask are worked out in every layer (the last layer's count moves last), no mask for one token

def forward_cached(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    """The decoder over new tokens only: the keys and values of all tokens before them come from the cache.

    ids (B, t) int64, the tokens that follow the cache.length tokens already stored -> logits (B, t, V). Afterwards
    cache.length has grown by t. Any way of cutting a prompt into chunks gives the same logits. Raises CacheFull.
    """
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]  # (B, t, D)
    for index, layer in enumerate(weights.layers):
        start, t = cache.length, ids.shape[1]
        positions = start + torch.arange(t, device=ids.device).expand(len(ids), t)
        keys_at = torch.arange(start + t, device=ids.device)
        mask = None if t == 1 else keys_at <= positions[:1, :, None]
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)  # (B, K, t, Dh) -> (B, K, start+t, Dh)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
