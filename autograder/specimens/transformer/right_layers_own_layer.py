# exercise: run_layers
# RIGHT: its own layer, in place of decoder_block
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for n in range(len(weights.layers)):
        w = weights.layers[n]
        h = rms_norm(x, w.input_layernorm, config.rms_norm_eps)
        q, k, v = ((h @ m.T).unflatten(-1, (-1, config.head_dim)).transpose(1, 2) for m in (w.q_proj, w.k_proj, w.v_proj))
        q, k = (rotary(part, positions, config.rope_theta) for part in (q, k))
        x = x + merge_heads(attend(n, q, k, v)) @ w.o_proj.T
        h = rms_norm(x, w.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(h, w.gate_proj, w.up_proj, w.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps)
