# exercise: decoder_block
# WRONG: the mask is made on the CPU, wherever x lies
# SAYS: The causal mask stays on the CPU: on a GPU it cannot meet the scores. Move it with .to(x.device).
def decoder_block(x, layer, config, positions, attend=None):
    H, K, Dh = config.num_attention_heads, config.num_key_value_heads, config.head_dim
    fused = torch.cat((layer.q_proj, layer.k_proj, layer.v_proj))
    h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps) @ fused.T
    q, k, v = h.split((H * Dh, K * Dh, K * Dh), dim=-1)
    q = rotary(split_heads(q, H), positions, config.rope_theta)
    k = rotary(split_heads(k, K), positions, config.rope_theta)
    mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
    v = split_heads(v, K)
    read = attention(q, k, v, mask) if attend is None else attend(q, k, v)
    after = x + merge_heads(read) @ layer.o_proj.T
    h = rms_norm(after, layer.post_attention_layernorm, config.rms_norm_eps)
    return after + feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)
