# Answers to the challenge of the transformer day. How they are judged: tests/test_asides.py.


# %% right_written_out
# RIGHT: the layer, with two lines more
def qk_norm_block(x, layer, config, positions, q_norm, k_norm):
    H, K, eps = config.num_attention_heads, config.num_key_value_heads, config.rms_norm_eps
    h = rms_norm(x, layer.input_layernorm, eps)
    q, k, v = (split_heads(h @ w.T, n) for w, n in ((layer.q_proj, H), (layer.k_proj, K), (layer.v_proj, K)))
    q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
    q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
    T = x.shape[1]
    x = x + merge_heads(attention(q, k, v, causal_mask(T, T))) @ layer.o_proj.T
    return x + feed_forward(rms_norm(x, layer.post_attention_layernorm, eps), layer.gate_proj, layer.up_proj, layer.down_proj)


# %% right_turned_back
# RIGHT: through attend: turn back, norm, turn again
def qk_norm_block(x, layer, config, positions, q_norm, k_norm):
    def normed(y, weight):
        back = rotary(y, -positions, config.rope_theta)
        return rotary(rms_norm(back, weight, config.rms_norm_eps), positions, config.rope_theta)

    def attend(q, k, v):
        T = q.shape[2]
        return attention(normed(q, q_norm), normed(k, k_norm), v, causal_mask(T, T))

    return decoder_block(x, layer, config, positions, attend)


# %% right_by_hand
# RIGHT: the norms of the heads written out
def qk_norm_block(x, layer, config, positions, q_norm, k_norm):
    eps, Dh = config.rms_norm_eps, config.head_dim
    B, T, _ = x.shape
    h = rms_norm(x, layer.input_layernorm, eps)

    def heads(matrix, weight=None):
        y = (h @ matrix.T).view(B, T, -1, Dh)
        if weight is not None:
            y = y / (y.square().mean(-1, keepdim=True) + eps).sqrt() * weight
        return y.transpose(1, 2)

    q, k = (rotary(heads(m, w), positions, config.rope_theta) for m, w in ((layer.q_proj, q_norm), (layer.k_proj, k_norm)))
    x = x + merge_heads(attention(q, k, heads(layer.v_proj), causal_mask(T, T))) @ layer.o_proj.T
    return x + feed_forward(rms_norm(x, layer.post_attention_layernorm, eps), layer.gate_proj, layer.up_proj, layer.down_proj)


# %% wrong_after_turning, of right_written_out
# WRONG: normed after the turn: with unlike weights the score depends on where the text stands
# -     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)


# %% wrong_over_all_heads, of right_written_out
# WRONG: one norm over all heads of a token
# -     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
# +     q = split_heads(rms_norm(merge_heads(q), q_norm.repeat(H), eps), H)
# +     k = split_heads(rms_norm(merge_heads(k), k_norm.repeat(K), eps), K)


# %% wrong_queries_only, of right_written_out
# WRONG: keys are left as they are
# -     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
# +     q = rms_norm(q, q_norm, eps)


# %% wrong_values_too, of right_written_out
# WRONG: values are normed too
# -     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
# +     q, k, v = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps), rms_norm(v, torch.ones_like(k_norm), eps)


# %% wrong_one_weight, of right_written_out
# WRONG: the queries' weight for both
# -     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
# +     q, k = rms_norm(q, q_norm, eps), rms_norm(k, q_norm, eps)


# %% wrong_no_weights, of right_written_out
# WRONG: the weights are left out
# -     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
# +     q, k = rms_norm(q, torch.ones_like(q_norm), eps), rms_norm(k, torch.ones_like(k_norm), eps)


# %% wrong_no_norm
# WRONG: the layer as it was
def qk_norm_block(x, layer, config, positions, q_norm, k_norm):
    return decoder_block(x, layer, config, positions)


# %% wrong_no_mask, of right_written_out
# WRONG: tokens look ahead
# -     x = x + merge_heads(attention(q, k, v, causal_mask(T, T))) @ layer.o_proj.T
# +     x = x + merge_heads(attention(q, k, v)) @ layer.o_proj.T


# %% wrong_no_turn, of right_written_out
# WRONG: nothing turns
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     del positions


# %% wrong_in_place, of right_written_out
# WRONG: writes into x
# -     x = x + merge_heads(attention(q, k, v, causal_mask(T, T))) @ layer.o_proj.T
# +     x += merge_heads(attention(q, k, v, causal_mask(T, T))) @ layer.o_proj.T


# %% wrong_mean_taken_away, of right_written_out
# WRONG: LayerNorm: the mean of each head is taken away
# -     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
# +     q, k = (rms_norm(y - y.mean(-1, keepdim=True), w, eps) for y, w in ((q, q_norm), (k, k_norm)))


# %% wrong_swapped_weights, of right_blind
# WRONG: each has the other's weight
# -     q, k = rms_norm(q, q_norm, config.rms_norm_eps), rms_norm(k, k_norm, config.rms_norm_eps)
# +     q, k = rms_norm(q, k_norm, config.rms_norm_eps), rms_norm(k, q_norm, config.rms_norm_eps)


# %% wrong_arange
# WRONG: the positions are not handed on
def qk_norm_block(x, layer, config, positions, q_norm, k_norm):
    h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q, k, v = split_heads(h @ layer.q_proj.T, config.num_attention_heads), split_heads(h @ layer.k_proj.T, config.num_key_value_heads), split_heads(h @ layer.v_proj.T, config.num_key_value_heads)
    q, k = rms_norm(q, q_norm, config.rms_norm_eps), rms_norm(k, k_norm, config.rms_norm_eps)
    T = x.shape[1]; positions = torch.arange(T)
    q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
    a = merge_heads(attention(q, k, v, causal_mask(T, T).to(x.device)))
    x = x + a @ layer.o_proj.T
    h = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)


# %% wrong_first_position, of right_blind
# WRONG: only the first position is handed on
# -     q, k = rms_norm(q, q_norm, config.rms_norm_eps), rms_norm(k, k_norm, config.rms_norm_eps)
# +     q, k = rms_norm(q, q_norm, config.rms_norm_eps), rms_norm(k, k_norm, config.rms_norm_eps)
# +     positions = positions[0] + torch.arange(len(positions))


# %% wrong_theta, of right_blind
# WRONG: the base is not the config's
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q, k = rotary(q, positions), rotary(k, positions)


# %% right_blind
# RIGHT: the layer written out, both norms before the turn
def qk_norm_block(x, layer, config, positions, q_norm, k_norm):
    h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q, k, v = split_heads(h @ layer.q_proj.T, config.num_attention_heads), split_heads(h @ layer.k_proj.T, config.num_key_value_heads), split_heads(h @ layer.v_proj.T, config.num_key_value_heads)
    q, k = rms_norm(q, q_norm, config.rms_norm_eps), rms_norm(k, k_norm, config.rms_norm_eps)
    q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
    T = x.shape[1]
    a = merge_heads(attention(q, k, v, causal_mask(T, T).to(x.device)))
    x = x + a @ layer.o_proj.T
    h = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)
