# exercise: decode_batch
# RIGHT: its own positions and mask, then the layers by hand

def decode_batch(model, ids, num_pad, cache):
    from torch.nn.functional import linear, scaled_dot_product_attention, silu
    c, w = model.config, model.weights
    B, t = ids.shape
    now = cache.length
    positions = (now - num_pad)[:, None]
    mask = (torch.arange(now + 1, device=num_pad.device) >= num_pad[:, None])[:, None, None]
    x = torch.nn.functional.embedding(ids, w.embed_tokens)
    for i, layer in enumerate(w.layers):
        h = rms_norm(x, layer.input_layernorm, c.rms_norm_eps)
        q = linear(h, layer.q_proj).view(B, t, c.num_attention_heads, c.head_dim).transpose(1, 2)
        k = linear(h, layer.k_proj).view(B, t, c.num_key_value_heads, c.head_dim).transpose(1, 2)
        v = linear(h, layer.v_proj).view(B, t, c.num_key_value_heads, c.head_dim).transpose(1, 2)
        k, v = cache.append(i, rotary(k, positions, c.rope_theta), v)
        out = scaled_dot_product_attention(rotary(q, positions, c.rope_theta), k, v, attn_mask=mask, enable_gqa=True)
        x = x + linear(out.transpose(1, 2).reshape(B, t, -1), layer.o_proj)
        h = rms_norm(x, layer.post_attention_layernorm, c.rms_norm_eps)
        x = x + linear(silu(linear(h, layer.gate_proj)) * linear(h, layer.up_proj), layer.down_proj)
    return linear(rms_norm(x[:, -1], w.norm, c.rms_norm_eps), w.lm_head)
