# Versions of `prefill`. The wrong ones here are edits of right ones in this file.

# %% right_prefill_head_at_the_end
# RIGHT: the head at the last position only

def prefill(model, ids, cache):
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(start, start + t, device=ids.device)
    mask = causal_mask(t, start + t).to(ids.device)
    x = weights.embed_tokens[ids]
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

# %% right_prefill_in_bites
# RIGHT: the prompt goes in by chunks of five; only the last logits are kept

def prefill(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    """Put a prompt (or its next chunk) into the cache; the logits of the token that follows it.

    ids (B, t) int64 -> (B, V).
    """
    for bite in ids.split(5, dim=1):
        logits = forward_cached(model, bite, cache)[:, -1]
    return logits

# %% wrong_prefill_mask_on_the_cpu, of right_prefill_head_at_the_end
# WRONG: the mask stays on the default device
# -     mask = causal_mask(t, start + t).to(ids.device)
# +     mask = causal_mask(t, start + t)

# %% wrong_prefill_positions_on_the_cpu, of right_prefill_head_at_the_end
# WRONG: positions are made on the default device
# -     positions = torch.arange(start, start + t, device=ids.device)
# +     positions = torch.arange(start, start + t)

# %% wrong_prefill_in_bites_of_rows, of right_prefill_in_bites
# WRONG: splits the rows instead of the tokens: from six rows on they do not fit the cache
# -     for bite in ids.split(5, dim=1):
# +     for bite in ids.split(5):
