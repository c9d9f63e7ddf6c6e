# exercise: forward_cached
# RIGHT: without gradients, each part with a name of its own

def attend(x, layer, index, config, positions, mask, cache):
    normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    heads = {"q": config.num_attention_heads, "k": config.num_key_value_heads, "v": config.num_key_value_heads}
    q, k, v = (split_heads(normed @ getattr(layer, f"{n}_proj").T, heads[n]) for n in "qkv")
    keys, values = cache.append(index, rotary(k, positions, config.rope_theta), v)
    return merge_heads(attention(rotary(q, positions, config.rope_theta), keys, values, mask)) @ layer.o_proj.T


@torch.no_grad()
def forward_cached(model, ids, cache):
    config, n = model.config, cache.length
    total = n + ids.size(1)
    positions, mask = torch.arange(n, total, device=ids.device), causal_mask(ids.size(1), total).to(ids.device)
    x = model.weights.embed_tokens[ids]
    for i, layer in enumerate(model.weights.layers):
        x = x + attend(x, layer, i, config, positions, mask, cache)
        x = x + feed_forward(
            rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps), layer.gate_proj, layer.up_proj, layer.down_proj
        )
    return rms_norm(x, model.weights.norm, config.rms_norm_eps) @ model.weights.lm_head.T
