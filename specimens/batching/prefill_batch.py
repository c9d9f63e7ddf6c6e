# Versions of prefill_batch, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_prefill_batch_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def prefill_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    weights, config = model.weights, model.config
    positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
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
    return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)


# %% right_prefill_batch_fused_qkv
# RIGHT: one product for q, k and v

def prefill_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    weights, config = model.weights, model.config
    positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
    x = weights.embed_tokens[ids]  # (B, t, D)
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        heads, groups = config.num_attention_heads, config.num_key_value_heads
        fused = split_heads(normed @ torch.cat((layer.q_proj, layer.k_proj, layer.v_proj)).T, heads + 2 * groups)
        q, k, v = fused.split((heads, groups, groups), dim=1)
        q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)


# %% right_prefill_batch_last_layer_last_column
# RIGHT: in the last layer only the last column asks

def prefill_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    weights, config = model.weights, model.config
    positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
    x = weights.embed_tokens[ids]  # (B, t, D)
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)
        if index == len(weights.layers) - 1:
            x, q, mask = x[:, -1:], q[:, :, -1:], mask[:, :, -1:]
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)


# %% right_prefill_batch_row_by_row_masks
# RIGHT: its own mask, built a row at a time

def prefill_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    rows = [positions_and_mask(pads[None], start, t) for pads in num_pad]
    positions, mask = torch.cat([row[0] for row in rows]), torch.cat([row[1] for row in rows])
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
    return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)


# %% right_prefill_batch_sdpa
# RIGHT: torch's own attention with grouped heads

def prefill_batch(model, ids, num_pad, cache):
    from torch.nn.functional import linear, scaled_dot_product_attention, silu
    c, w = model.config, model.weights
    B, t = ids.shape
    positions, mask = positions_and_mask(num_pad, cache.length, t)
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


# %% wrong_prefill_batch_eps_fixed
# WRONG: eps always 1e-5
def prefill_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    weights, config = model.weights, model.config
    positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
    x = weights.embed_tokens[ids]  # (B, t, D)
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, 1e-5)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, 1e-5)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x[:, -1], weights.norm, 1e-5) @ weights.lm_head.T  # (B, V)


# %% wrong_prefill_batch_is_causal
# WRONG: without pads is_causal=True, which aligns at the start: wrong for a later chunk of equal prompts
from torch.nn.functional import scaled_dot_product_attention as one_call


def prefill_batch(model, ids, num_pad, cache):
    weights, config = model.weights, model.config
    positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
    causal = not num_pad.any() and ids.shape[1] > 1
    x = weights.embed_tokens[ids]
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(one_call(q, k_all, v_all, attn_mask=None if causal else mask, is_causal=causal, enable_gqa=True)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T


# %% wrong_prefill_batch_memo_mask_shape
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


# %% wrong_prefill_batch_start_zero
# WRONG: every chunk begins at slot 0
# SAYS: Every chunk begins at slot 0. The first slot of a pass is cache.length: hand it to positions_and_mask as start.

def prefill_batch(model, ids, num_pad, cache):
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions, _ = positions_and_mask(num_pad, 0, t)
    _, mask = positions_and_mask(num_pad, start, t)
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


# %% wrong_prefill_batch_trims_common_pads
# WRONG: cuts off columns that hold pads in all rows, so the cache has fewer slots than num_pad counts with
def prefill_batch(model, ids, num_pad, cache):
    weights, config = model.weights, model.config
    if cache.length == 0 and int(num_pad.min()) > 0:  # columns that are pads in every row
        ids, num_pad = ids[:, int(num_pad.min()) :], num_pad - num_pad.min()
    positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
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

# %% wrong_prefill_batch_always_float32, of right_prefill_batch_plain
# WRONG: gives float32 logits, whatever precision the model has
# -
# ...
# -     return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)
# +     return (rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T).float()

# %% wrong_prefill_batch_positions_half, of right_prefill_batch_plain
# WRONG: positions are cast to the dtype of x: in bfloat16 those above 256 are rounded
# + def prefill_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
# +     """Put left-padded prompts (or their next chunk) into the cache; the logits of the token that follows each row.
#
# - def prefill_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
# +     ids (B, t) int64, num_pad (B,) -> (B, V): each row as if it were alone, and so are its keys in the cache, turned by
# +     the row's own positions. The rows end together, so the last column belongs to every row's last token; only there
# +     is the head computed. Raises CacheFull.
# +     """
#       weights, config = model.weights, model.config
#       positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
# +     positions = positions.to(weights.embed_tokens.dtype)
# ...
# -     return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)
# +     return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T

# %% wrong_prefill_batch_pads_by_id, of right_prefill_batch_plain
# WRONG: finds pads by their id, 0
#       weights, config = model.weights, model.config
# +     num_pad = (ids == 0).long().cumprod(dim=1).sum(dim=1) if cache.length == 0 else num_pad

# %% wrong_prefill_batch_skips_chunks_of_pads, of right_prefill_batch_plain
# WRONG: a chunk in which every row has pads alone is not read: its columns take no slot
#       weights, config = model.weights, model.config
# +     if bool((num_pad >= cache.length + ids.shape[1]).all()):
# +         return torch.zeros(len(ids), config.vocab_size, dtype=weights.lm_head.dtype, device=ids.device)

# %% wrong_prefill_batch_zero_is_a_pad, of right_prefill_batch_plain
# WRONG: takes id 0 for a pad: the logits of each row's last token that is not 0
# -     return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)
# +     last = torch.where(ids != 0, torch.arange(ids.shape[1], device=ids.device), 0).amax(dim=1)
# +     return rms_norm(x[torch.arange(len(x), device=x.device), last], weights.norm, config.rms_norm_eps) @ weights.lm_head.T

# %% wrong_prefill_batch_right_padding, of right_prefill_batch_plain
# WRONG: treats rows as padded on the right
#       weights, config = model.weights, model.config
# +     ids = torch.stack([torch.cat((row[pads:], row[:pads])) for row, pads in zip(ids, num_pad.tolist())])
# +     num_pad = torch.zeros_like(num_pad)

# %% wrong_prefill_batch_no_mask_for_pads, of right_prefill_batch_plain
# WRONG: pads are attended to
#       positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
# +     mask = positions_and_mask(num_pad * 0, cache.length, ids.shape[1])[1]

# %% wrong_prefill_batch_positions_from_the_pad, of right_prefill_batch_plain
# WRONG: positions count the pads
#       positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
# +     positions = positions_and_mask(num_pad * 0, cache.length, ids.shape[1])[0]

# %% wrong_prefill_batch_positions_of_row_zero, of right_prefill_batch_plain
# WRONG: the first row's positions for all
#       positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
# +     positions = positions[0]

# %% wrong_prefill_batch_default_base, of right_prefill_batch_plain
# WRONG: RoPE with its default base
# -         q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
# -         k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
# +         q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions)
# +         k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions)

# %% wrong_prefill_batch_unrotated_keys, of right_prefill_batch_plain
# WRONG: keys are cached without their rotation
# -         k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
# +         k = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)

# %% wrong_prefill_batch_length_inside_the_loop, of right_prefill_batch_plain
# WRONG: asks for cache.length in every layer, after the last layer has stored
#           k_all, v_all = cache.append(index, k, v)
# +         mask = positions_and_mask(num_pad, max(cache.length - ids.shape[1] * (index == len(weights.layers) - 1), 0) if index else 0, ids.shape[1])[1]
# +         mask = torch.nn.functional.pad(mask, (0, k_all.shape[2] - mask.shape[3])) if mask.shape[3] <= k_all.shape[2] else mask[..., : k_all.shape[2]]

# %% wrong_prefill_batch_nothing_cached, of right_prefill_batch_plain
# WRONG: fills no cache
# -         k_all, v_all = cache.append(index, k, v)
# +         k_all, v_all = k, v

# %% wrong_prefill_batch_empty_softmax, of right_prefill_batch_plain
# WRONG: pads see nothing: NaN goes through the layers
# -         x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
# +         x = x + merge_heads(attention(q, k_all, v_all, mask & (torch.arange(mask.shape[3]) >= num_pad[:, None])[:, None, None])) @ layer.o_proj.T

# %% wrong_prefill_batch_mask_of_row_zero, of right_prefill_batch_plain
# WRONG: the first row's mask for all
# -         x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
# +         x = x + merge_heads(attention(q, k_all, v_all, mask[:1])) @ layer.o_proj.T

# %% wrong_prefill_batch_no_causality, of right_prefill_batch_plain
# WRONG: prompts see ahead of themselves
# -         x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
# +         x = x + merge_heads(attention(q, k_all, v_all, mask | (mask.any(dim=2, keepdim=True) & (torch.arange(mask.shape[3]) >= num_pad[:, None])[:, None, None] & (ids.shape[1] > 1)))) @ layer.o_proj.T

# %% wrong_prefill_batch_own_chunk_only, of right_prefill_batch_plain
# WRONG: attends to this chunk's keys only
# -         x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
# +         x = x + merge_heads(attention(q, k, v, mask[..., -k.shape[2]:])) @ layer.o_proj.T

# %% wrong_prefill_batch_all_columns, of right_prefill_batch_plain
# WRONG: the head at every column
# -     return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)
# +     return (rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T)[:, -1]  # (B, V)

# %% wrong_prefill_batch_by_own_length, of right_prefill_batch_plain
# WRONG: the logits at the row's own length, as for right padding
# -     return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)
# +     return rms_norm(x[torch.arange(len(x)), (x.shape[1] - num_pad - 1).clamp(min=0)], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)

# %% wrong_prefill_batch_first_column, of right_prefill_batch_plain
# WRONG: the logits of the first column
# -     return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)
# +     return rms_norm(x[:, 0], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)

# %% wrong_prefill_batch_first_real_token, of right_prefill_batch_plain
# WRONG: the logits of each row's first real token
# -     return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)
# +     return rms_norm(x[torch.arange(len(x)), num_pad.clamp(max=x.shape[1] - 1)], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)

# %% wrong_prefill_batch_no_last_norm, of right_prefill_batch_plain
# WRONG: the last norm is left out
# -     return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)
# +     return x[:, -1] @ weights.lm_head.T  # (B, V)

# %% wrong_prefill_batch_tied_always, of right_prefill_batch_plain
# WRONG: the embedding as head
# -     return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)
# +     return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.embed_tokens.T  # (B, V)

# %% wrong_prefill_batch_whole_logits, of right_prefill_batch_plain
# WRONG: logits (B, t, V)
# SAYS: Your logits are (B, t, V). Only the last column of each row is asked for: (B, V).
# -     return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)
# +     return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, V)
