# exercise: decode_batch
# RIGHT: attention for each row over its real keys only

def decode_batch(model, ids, num_pad, cache):
    w, c = model.weights, model.config
    positions = (cache.length - num_pad)[:, None]
    x = w.embed_tokens[ids]
    for index, layer in enumerate(w.layers):
        normed = rms_norm(x, layer.input_layernorm, c.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, c.num_attention_heads), positions, c.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, c.num_key_value_heads), positions, c.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, c.num_key_value_heads)
        keys, values = cache.append(index, k, v)
        rows = [attention(q[b : b + 1], keys[b : b + 1, :, p:], values[b : b + 1, :, p:]) for b, p in enumerate(num_pad.tolist())]
        x = x + merge_heads(torch.cat(rows)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, c.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x[:, -1], w.norm, c.rms_norm_eps) @ w.lm_head.T
