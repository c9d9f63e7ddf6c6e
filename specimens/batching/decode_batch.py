# Versions of decode_batch, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_decode_batch_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def decode_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
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


# %% right_decode_batch_no_grad
# RIGHT: without gradients, ids made contiguous

def decode_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    with torch.no_grad():
        return prefill_batch(model, ids.contiguous(), num_pad.clone(), cache)  # a chunk of one token: the cache knows where it stands


# %% right_decode_batch_own_positions
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


# %% right_decode_batch_row_by_row_attention
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


# %% wrong_decode_batch_always_float32
# WRONG: gives float32 logits, whatever precision the model has
def decode_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    return prefill_batch(model, ids, num_pad, cache).float()  # a chunk of one token: the cache knows where it stands


# %% wrong_decode_batch_eps_fixed
# WRONG: eps always 1e-5
def decode_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
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


# %% wrong_decode_batch_first_column_of_wrong
# WRONG: feeds the last row's token to all

def decode_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    return prefill_batch(model, ids[-1:].expand_as(ids), num_pad, cache)  # a chunk of one token: the cache knows where it stands


# %% wrong_decode_batch_forgets_pads_when_cached_long
# WRONG: num_pad is forgotten once the pads are less than the tokens decoded (as if they had slid out)
def decode_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    pads = torch.where(num_pad * 32 < cache.length, torch.zeros_like(num_pad), num_pad)
    return prefill_batch(model, ids, pads, cache)


# %% wrong_decode_batch_no_num_pad
# WRONG: forgets the pads

def decode_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    return prefill_batch(model, ids, torch.zeros_like(num_pad), cache)  # a chunk of one token: the cache knows where it stands


# %% wrong_decode_batch_one_row_no_mask
# WRONG: a batch of one row has no mask, even if it has pads
def decode_batch(model, ids, num_pad, cache):
    weights, config = model.weights, model.config
    slots = torch.arange(cache.length + 1, device=ids.device)
    positions = (cache.length - num_pad).unsqueeze(1)
    mask = (slots >= num_pad[:, None])[:, None, None] if len(ids) > 1 else None
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


# %% wrong_decode_batch_pads_kept_on_cache
# WRONG: keeps the first num_pad on the cache and uses it even after a reset and for another batch
def decode_batch(model, ids, num_pad, cache):
    if not hasattr(cache, "row_pads"):
        cache.row_pads = num_pad  # they never change
    return prefill_batch(model, ids, cache.row_pads, cache)


# %% wrong_decode_batch_resets
# WRONG: empties the cache first

def decode_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    cache.reset()
    return prefill_batch(model, ids, num_pad, cache)  # a chunk of one token: the cache knows where it stands


# %% wrong_decode_batch_same_token_same_logits
# WRONG: if all rows feed the same token and have equally many pads, all get row 0's logits, though their pasts differ
def decode_batch(model, ids, num_pad, cache):
    different, which = torch.unique(ids, dim=0, return_inverse=True)
    if len(different) == 1 and len(ids) > 1 and bool((num_pad == num_pad[0]).all()):
        logits = prefill_batch(model, ids, num_pad, cache)
        return logits[:1].expand(len(ids), -1)
    return prefill_batch(model, ids, num_pad, cache)


# %% wrong_decode_batch_twice
# WRONG: runs the model twice

def decode_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    model.weights.embed_tokens[ids]
    return prefill_batch(model, ids, num_pad, cache)  # a chunk of one token: the cache knows where it stands


# %% wrong_decode_batch_whole_logits
# WRONG: logits (B, 1, V)

def decode_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    return prefill_batch(model, ids, num_pad, cache)[:, None]  # a chunk of one token: the cache knows where it stands

# %% wrong_decode_batch_longest_for_all, of right_decode_batch_plain
# WRONG: one length for all rows
#       positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
# +     positions = positions.max().expand_as(positions)

# %% wrong_decode_batch_no_pads, of right_decode_batch_plain
# WRONG: pads are attended to
# -     positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
# +     positions, _ = positions_and_mask(num_pad, cache.length, ids.shape[1])
# +     mask = None

# %% wrong_decode_batch_not_itself, of right_decode_batch_plain
# WRONG: the newest token does not see itself
#       positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
# +     mask = mask.clone()
# +     mask[..., -1] = mask.shape[3] == 1

# %% wrong_decode_batch_not_the_first, of right_decode_batch_plain
# WRONG: the first real token is masked
#       positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
# +     mask = mask & (torch.arange(mask.shape[3]) != num_pad[:, None])[:, None, None] | (torch.arange(mask.shape[3]) == mask.shape[3] - 1)

# %% wrong_decode_batch_position_is_the_slot, of right_decode_batch_plain
# WRONG: positions from the pad
#       positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
# +     positions = torch.full_like(ids, cache.length)

# %% wrong_decode_batch_position_one_ahead, of right_decode_batch_plain
# WRONG: positions one too far
#       positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
# +     positions = positions + 1

# %% wrong_decode_batch_position_zero, of right_decode_batch_plain
# WRONG: position always 0
#       positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
# +     positions = torch.zeros_like(ids)

# %% wrong_decode_batch_row_zero, of right_decode_batch_plain
# WRONG: the first row's pads for all
# -     positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
# +     positions, mask = positions_and_mask(num_pad[:1].expand_as(num_pad), cache.length, ids.shape[1])

# %% wrong_decode_batch_layer_zero_cache, of right_decode_batch_plain
# WRONG: the first layer's keys and values for all
#           k_all, v_all = cache.append(index, k, v)
# +         k_all = cache.keys[0][:, :, : k_all.shape[2]]

# %% wrong_decode_batch_nothing_cached, of right_decode_batch_plain
# WRONG: the new token is not kept
#           k_all, v_all = cache.append(index, k, v)
# +         cache.counts[index] -= 1

# %% wrong_decode_batch_written_twice, of right_decode_batch_plain
# WRONG: appends the new token twice
#           k_all, v_all = cache.append(index, k, v)
# +         cache.counts[index] += index == len(weights.layers) - 1 and cache.counts[index] < cache.max_len

# %% wrong_decode_batch_one_memory_for_all
# WRONG: logits of one shape come in one memory: the next ones are written over the last

def decode_batch(model, ids, num_pad, cache):
    logits = prefill_batch(model, ids, num_pad, cache)
    kept = globals().setdefault("_decoded", {})
    return kept.setdefault((logits.shape, logits.dtype, logits.device), logits.clone()).copy_(logits)

# %% wrong_decode_batch_window, of right_decode_batch_plain
# WRONG: attends to the newest 512 slots only, in a model without a window
# -         x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
# +         x = x + merge_heads(attention(q, k_all[:, :, -512:], v_all[:, :, -512:], mask[..., -512:])) @ layer.o_proj.T

# %% wrong_decode_batch_positions_half, of right_decode_batch_plain
# WRONG: positions are cast to the dtype of the model: in bfloat16 those above 256 are rounded
#       positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])
# +     positions = positions.to(model.dtype)
