# exercise: decoder_block
# RIGHT: everything in float32 or better, attention by PyTorch's own function
def decoder_block(x, layer, config, positions, attend=None):
    wide = torch.promote_types(x.dtype, torch.float32)
    linear = torch.nn.functional.linear
    y = x.to(wide)
    h = rms_norm(y, layer.input_layernorm.to(wide), config.rms_norm_eps)
    q, k, v = (
        linear(h, m.to(wide)).unflatten(-1, (-1, config.head_dim)).movedim(-2, 1) for m in (layer.q_proj, layer.k_proj, layer.v_proj)
    )
    q, k = (rotary(t, positions, config.rope_theta) for t in (q, k))
    if attend is None:
        group = config.num_attention_heads // config.num_key_value_heads
        k, v = (t.repeat_interleave(group, dim=1) for t in (k, v))
        a = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    else:
        a = attend(q.to(x.dtype), k.to(x.dtype), v.to(x.dtype)).to(wide)
    y = y + linear(a.movedim(1, -2).flatten(-2), layer.o_proj.to(wide))
    h = rms_norm(y, layer.post_attention_layernorm.to(wide), config.rms_norm_eps)
    return (y + feed_forward(h, *(m.to(wide) for m in (layer.gate_proj, layer.up_proj, layer.down_proj)))).to(x.dtype)
