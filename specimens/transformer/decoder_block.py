# Versions of decoder_block, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_block_fused
# RIGHT: queries, keys and values from one matrix
def decoder_block(x, layer, config, positions, attend=None):
    H, K, Dh = config.num_attention_heads, config.num_key_value_heads, config.head_dim
    fused = torch.cat((layer.q_proj, layer.k_proj, layer.v_proj))
    h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps) @ fused.T
    q, k, v = h.split((H * Dh, K * Dh, K * Dh), dim=-1)
    q = rotary(split_heads(q, H), positions, config.rope_theta)
    k = rotary(split_heads(k, K), positions, config.rope_theta)
    mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
    v = split_heads(v, K)
    read = attention(q, k, v, mask) if attend is None else attend(q, k, v)
    after = x + merge_heads(read) @ layer.o_proj.T
    h = rms_norm(after, layer.post_attention_layernorm, config.rms_norm_eps)
    return after + feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)


# %% right_block_library
# RIGHT: torch's own operations, views in place of the day before's functions
import torch.nn.functional as F


def decoder_block(x, layer, config, positions, attend=None):
    B, T, D = x.shape
    H, K, Dh = config.num_attention_heads, config.num_key_value_heads, config.head_dim
    h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q = F.linear(h, layer.q_proj).view(B, T, H, Dh).transpose(1, 2)
    k = F.linear(h, layer.k_proj).view(B, T, K, Dh).transpose(1, 2)
    v = F.linear(h, layer.v_proj).view(B, T, K, Dh).transpose(1, 2)
    q = rotary(q, positions, base=config.rope_theta)
    k = rotary(k, positions, base=config.rope_theta)
    causal = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    a = (attend or causal)(q, k, v)
    x = x + F.linear(a.transpose(1, 2).reshape(B, T, H * Dh), layer.o_proj)
    h = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)


# %% right_block_loops
# RIGHT: head by head and row by row, own rope by complex numbers from relative positions, mask from the positions
def _turned(x, positions, base):
    wide = torch.promote_types(x.dtype, torch.float32)
    half = x.shape[-1] // 2
    speeds = torch.exp(-torch.arange(half, dtype=wide, device=x.device) * 2 / x.shape[-1] * torch.log(torch.tensor(base, dtype=wide, device=x.device)))
    angles = positions.to(wide)[:, None] * speeds
    turned = torch.complex(x[:, :half].to(wide), x[:, half:].to(wide)) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((turned.real, turned.imag), dim=-1).to(x.dtype)


def decoder_block(x, layer, config, positions, attend=None):
    Dh, group = config.head_dim, config.num_attention_heads // config.num_key_value_heads
    rows, parts = [], [{} for _ in x]
    for b, row in enumerate(x):
        where = positions[b] if positions.dim() == 2 else positions
        allowed = where[None, :] <= where[:, None]
        relative = where - where[:1] if attend is None else where  # only distances count
        h = rms_norm(row, layer.input_layernorm, config.rms_norm_eps)
        update = torch.zeros_like(row)
        for head in range(config.num_attention_heads):
            mine, shared = slice(head * Dh, (head + 1) * Dh), slice(head // group * Dh, (head // group + 1) * Dh)
            q = _turned(h @ layer.q_proj[mine].T, relative, config.rope_theta)
            k = _turned(h @ layer.k_proj[shared].T, relative, config.rope_theta)
            v = h @ layer.v_proj[shared].T
            parts[b][head] = q, k, v
            scores = torch.where(allowed, q @ k.T / Dh**0.5, float("-inf"))
            update = update + (torch.softmax(scores, dim=-1) @ v) @ layer.o_proj[:, mine].T
        rows.append(row + update)
    y = torch.stack(rows)
    if attend is not None:
        heads = range(config.num_attention_heads)
        q, k, v = (torch.stack([torch.stack([part[h][i] for h in heads]) for part in parts]) for i in range(3))
        y = x + attend(q, k[:, ::group], v[:, ::group]).movedim(1, 2).flatten(2) @ layer.o_proj.T
    return y + feed_forward(rms_norm(y, layer.post_attention_layernorm, config.rms_norm_eps), layer.gate_proj, layer.up_proj, layer.down_proj)


# %% right_block_plain
# RIGHT: step by step; most of the wrong versions are edits of it
def decoder_block(x, layer, config, positions, attend=None):
    T = x.shape[1]
    normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q = split_heads(normed @ layer.q_proj.T, config.num_attention_heads)
    k = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)
    v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
    q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
    read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
    x = x + merge_heads(read) @ layer.o_proj.T
    normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)


# %% right_block_row_by_row
# RIGHT: one row of the batch at a time, one query at a time, adding into its own copy
def decoder_block(x, layer, config, positions, attend=None):
    out = x.clone()
    if attend is not None:
        h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(h @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(h @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(h @ layer.v_proj.T, config.num_key_value_heads)
        out += merge_heads(attend(q, k, v)) @ layer.o_proj.T
    for b in range(len(x)) if attend is None else ():
        row = x[b : b + 1]
        at = positions[b] if positions.dim() == 2 else positions
        h = rms_norm(row, layer.input_layernorm, config.rms_norm_eps)
        k = rotary(split_heads(h @ layer.k_proj.T, config.num_key_value_heads), at, config.rope_theta)
        v = split_heads(h @ layer.v_proj.T, config.num_key_value_heads)
        for t in range(x.shape[1]):
            q = split_heads(h[:, t : t + 1] @ layer.q_proj.T, config.num_attention_heads)
            q = rotary(q, at[t : t + 1], config.rope_theta)
            read = attention(q, k[:, :, : t + 1], v[:, :, : t + 1])
            out[b, t] += (merge_heads(read) @ layer.o_proj.T)[0, 0]
    h = rms_norm(out, layer.post_attention_layernorm, config.rms_norm_eps)
    out += feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)
    return out


# %% right_block_sdpa
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


# %% wrong_block_attend_before_rope, of right_block_plain
# WRONG: attend is given queries and keys that are not turned
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     turned = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = attention(*turned, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)


# %% wrong_block_attend_by_keyword, of right_block_plain
# WRONG: attend is called with keywords, which another attend need not know
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q=q, k=k, v=v)


# %% wrong_block_attend_called_twice, of right_block_plain
# WRONG: attend is called once for its shape and once for its values
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None or attend(q, k, v).shape != q.shape else attend(q, k, v)


# %% wrong_block_attend_float32, of right_block_plain
# WRONG: attend is given float32, whatever x is
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q.float(), k.float(), v.float()).to(x.dtype)


# %% wrong_block_attend_ignored, of right_block_plain
# WRONG: attend is ignored: the layer always reads causally
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = attention(q, k, v, causal_mask(T, T).to(x.device))


# %% wrong_block_attend_in_place, of right_block_plain
# WRONG: where attend is given, the update is added into the caller's x
# -     x = x + merge_heads(read) @ layer.o_proj.T
# +     update = merge_heads(read) @ layer.o_proj.T
# +     x = x + update if attend is None else x.add_(update)


# %% wrong_block_attend_keys_repeated, of right_block_plain
# WRONG: attend is given keys and values repeated for every query head
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     alike = [part.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for part in (k, v)]
# +     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, *alike)


# %% wrong_block_attend_not_for_one_token, of right_block_plain
# WRONG: a token that is alone reads itself, and attend is not called
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None or T == 1 else attend(q, k, v)


# %% wrong_block_attend_one_row, of right_block_plain
# WRONG: the heads of a single row come to attend without their batch dimension
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     if attend is not None and len(x) == 1:
# +         read = attend(q[0], k[0], v[0])[None]
# +     else:
# +         read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)


# %% wrong_block_attend_order, of right_block_plain
# WRONG: attend is given the values before the keys
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, v, k)


# %% wrong_block_attend_result_viewed, of right_block_plain
# WRONG: what attend gives is taken to be head by head in memory
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = read.view(*read.shape[:2], -1).view(read.shape)


# %% wrong_block_attend_result_viewed_by_token, of right_block_plain
# WRONG: what attend gives is taken to be token by token in memory
# -     x = x + merge_heads(read) @ layer.o_proj.T
# +     x = x + read.transpose(1, 2).view(*x.shape[:2], -1) @ layer.o_proj.T


# %% wrong_block_attend_scaled, of right_block_plain
# WRONG: attend is given queries that are divided by sqrt(Dh) already
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q * config.head_dim**-0.5, k, v)


# %% wrong_block_attend_unused, of right_block_plain
# WRONG: attend's result is not used
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     if attend is not None:
# +         attend(q, k, v)
# +     read = attention(q, k, v, causal_mask(T, T).to(x.device))


# %% wrong_block_attend_wide_sum, of right_block_plain
# WRONG: with attend the sum is left in float32 where x is bfloat16 or float16
# -     return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
# +     x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
# +     return x if attend is None else x.to(torch.promote_types(x.dtype, torch.float32))


# %% wrong_block_attention_twice, of right_block_plain
# WRONG: attention is added twice
# SAYS: The update of attention is added twice.
# -     x = x + merge_heads(read) @ layer.o_proj.T
# +     x = x + 2 * merge_heads(read) @ layer.o_proj.T


# %% wrong_block_averages_rows, of right_block_plain
# WRONG: queries of all rows of the batch read the first row
# SAYS: The queries of every row read the keys of row 0: each row reads its own.
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = attention(q, k[:1].expand_as(k), v[:1].expand_as(v), causal_mask(T, T).to(x.device)) if attend is None else attend(q, k[:1].expand_as(k), v[:1].expand_as(v))


# %% wrong_block_base_for_queries_only, of right_block_plain
# WRONG: keys are turned with the default base
# SAYS: The keys are turned with the default base: pass config.rope_theta for both.
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions)


# %% wrong_block_base_left_out, of right_block_plain
# WRONG: always the default base
# SAYS: Queries and keys are turned with the default base: pass config.rope_theta.
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q, k = rotary(q, positions), rotary(k, positions)


# %% wrong_block_eight_heads_at_most, of right_block_plain
# WRONG: heads beyond the eighth are left out
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q = rotary(q, positions, config.rope_theta)
# +     k = rotary(k, positions, config.rope_theta)
# +     q = torch.cat((q[:, :8], q[:, 8:] * 0), dim=1)


# %% wrong_block_eps_fixed, of right_block_plain
# WRONG: eps is always 1e-5
# SAYS: eps is always 1e-5: it is config.rms_norm_eps.
# -     normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
# +     normed = rms_norm(x, layer.input_layernorm, 1e-5)
# ...
# -     normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
# +     normed = rms_norm(x, layer.post_attention_layernorm, 1e-5)


# %% wrong_block_first_residual_from_norm, of right_block_plain
# WRONG: attention is added to the normed vector
# SAYS: The update of attention is added to the normed copy: add it to x.
# -     x = x + merge_heads(read) @ layer.o_proj.T
# +     x = normed + merge_heads(read) @ layer.o_proj.T


# %% wrong_block_float32, of right_block_plain
# WRONG: float64 comes back as float32
# SAYS: float64 comes back as float32: keep the dtype of x.
# -     return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
# +     return (x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)).float()


# %% wrong_block_gate_and_up_exchanged, of right_block_plain
# WRONG: gate and up exchanged in the call
# SAYS: gate_proj and up_proj are exchanged in the call of feed_forward.
# -     return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
# +     return x + feed_forward(normed, layer.up_proj, layer.gate_proj, layer.down_proj)


# %% wrong_block_groups_repeated, of right_block_plain
# WRONG: key/value heads repeated in the wrong order
# SAYS: Key/value heads are repeated in the wrong order: query head h reads h // (H/K); attention does that by itself.
#       q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     groups = q.shape[1] // k.shape[1]
# +     k, v = k.repeat(1, groups, 1, 1), v.repeat(1, groups, 1, 1)


# %% wrong_block_head_width_from_d, of right_block_plain
# WRONG: a head's width taken as D / H
# SAYS: A head's width is taken as D / H: it is config.head_dim.
# -     q = split_heads(normed @ layer.q_proj.T, config.num_attention_heads)
# +     q = (normed @ layer.q_proj.T).view(x.shape[0], T, config.num_attention_heads, config.hidden_size // config.num_attention_heads).transpose(1, 2)


# %% wrong_block_heads_not_merged_right, of right_block_plain
# WRONG: heads flattened without exchanging them with tokens
# SAYS: The heads are flattened without being exchanged with the tokens: use merge_heads.
# -     x = x + merge_heads(read) @ layer.o_proj.T
# +     x = x + read.reshape(x.shape[0], T, -1) @ layer.o_proj.T


# %% wrong_block_in_place, of right_block_plain
# WRONG: adds into the caller's x
# SAYS: The update is added into the caller's x: write x = x + ..., not x += ...
# -     x = x + merge_heads(read) @ layer.o_proj.T
# +     x += merge_heads(read) @ layer.o_proj.T


# %% wrong_block_k_and_v_exchanged, of right_block_plain
# WRONG: keys and values exchanged
# SAYS: Keys and values are exchanged.
# -     k = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)
# -     v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
# +     k = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
# +     v = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)


# %% wrong_block_keys_as_values, of right_block_plain
# WRONG: values are made with k_proj
# SAYS: The values are made with k_proj: they have v_proj.
# -     v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
# +     v = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)


# %% wrong_block_kv_head_count, of right_block_plain
# WRONG: keys and values cut into as many heads as queries
# SAYS: Keys and values are cut into as many heads as queries: they have num_key_value_heads.
# -     k = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)
# -     v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
# +     k = split_heads(normed @ layer.k_proj.T, config.num_attention_heads)
# +     v = split_heads(normed @ layer.v_proj.T, config.num_attention_heads)


# %% wrong_block_layer_norm, of right_block_plain
# WRONG: subtracts the mean before each norm
# SAYS: The mean is subtracted before each norm: RMSNorm subtracts nothing.
# -     normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
# +     normed = rms_norm(x - x.mean(-1, keepdim=True), layer.input_layernorm, config.rms_norm_eps)
# ...
# -     normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
# +     normed = rms_norm(x - x.mean(-1, keepdim=True), layer.post_attention_layernorm, config.rms_norm_eps)


# %% wrong_block_mask_inverted, of right_block_plain
# WRONG: sees only what comes after, and itself
# SAYS: A token sees only itself and what comes after: it should see what comes before.
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = attention(q, k, v, causal_mask(T, T).to(x.device).T) if attend is None else attend(q, k, v)


# %% wrong_block_mask_of_1024, of right_block_plain
# WRONG: the causal mask is cut from one of 1,024 positions: a longer text does not fit
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     q = rotary(q, positions, config.rope_theta)
# +     k = rotary(k, positions, config.rope_theta)
# +     read = attention(q, k, v, causal_mask(1024, 1024)[:T, :T].to(x.device)) if attend is None else attend(q, k, v)


# %% wrong_block_mask_on_the_cpu, of right_block_fused
# WRONG: the mask is made on the CPU, wherever x is
# SAYS: The causal mask stays on the CPU: on a GPU it cannot meet the scores. Move it with .to(x.device).
# -     mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
# +     mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()


# %% wrong_block_mask_without_itself, of right_block_plain
# WRONG: a token does not see itself, but for the first
# SAYS: A token does not see itself.
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = attention(q, k, v, causal_mask(T, T).to(x.device).tril(-1) | (torch.arange(T, device=x.device) == 0)) if attend is None else attend(q, k, v)


# %% wrong_block_no_attention, of right_block_plain
# WRONG: the attention part is missing
# SAYS: The part of attention is missing.
# -     x = x + merge_heads(read) @ layer.o_proj.T


# %% wrong_block_no_feed_forward, of right_block_plain
# WRONG: the feed-forward part is missing
# SAYS: The part of feed-forward is missing.
# -     return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
# +     return x


# %% wrong_block_no_first_residual, of right_block_plain
# WRONG: attention replaces x
# SAYS: The update of attention replaces x: add it to x.
# -     x = x + merge_heads(read) @ layer.o_proj.T
# +     x = merge_heads(read) @ layer.o_proj.T


# %% wrong_block_no_mask, of right_block_plain
# WRONG: no causal mask
# SAYS: The causal mask is missing: a token reads what comes after it.
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = attention(q, k, v) if attend is None else attend(q, k, v)


# %% wrong_block_no_mask_for_one_row, of right_block_plain
# WRONG: the causal mask is left out where the batch has one row
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     q = rotary(q, positions, config.rope_theta)
# +     k = rotary(k, positions, config.rope_theta)
# +     read = attention(q, k, v, causal_mask(T, T).to(x.device) if len(x) > 1 else None) if attend is None else attend(q, k, v)


# %% wrong_block_no_mask_for_two_tokens, of right_block_plain
# WRONG: no causal mask where there are two tokens or fewer: the first reads the second
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     q = rotary(q, positions, config.rope_theta)
# +     k = rotary(k, positions, config.rope_theta)
# +     read = attention(q, k, v, causal_mask(T, T).to(x.device) if T > 2 else None) if attend is None else attend(q, k, v)


# %% wrong_block_no_norm_before_attention, of right_block_plain
# WRONG: attention reads x itself
# SAYS: Attention reads x itself: it reads x normed by input_layernorm.
# -     normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
# +     normed = x


# %% wrong_block_no_norm_before_feed_forward, of right_block_plain
# WRONG: feed-forward reads x itself
# SAYS: Feed-forward reads x itself: it reads x normed by post_attention_layernorm.
# -     normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
# +     normed = x


# %% wrong_block_no_output_projection, of right_block_plain
# WRONG: o_proj is left out where the widths allow it
# SAYS: o_proj is left out.
# -     x = x + merge_heads(read) @ layer.o_proj.T
# +     x = x + merge_heads(read)[..., : x.shape[-1]]


# %% wrong_block_no_rope, of right_block_plain
# WRONG: queries and keys are not turned
# SAYS: Queries and keys are not turned: rotary is missing.
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)


# %% wrong_block_no_second_residual, of right_block_plain
# WRONG: feed-forward replaces x
# SAYS: The update of feed-forward replaces x: add it to x.
# -     return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
# +     return feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)


# %% wrong_block_norm_reused, of right_block_plain
# WRONG: feed-forward reads the vector normed before attention
# SAYS: Feed-forward reads the copy that was normed before attention: norm the new x.
# -     normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)


# %% wrong_block_norms_exchanged, of right_block_plain
# WRONG: the two norms' weights exchanged
# SAYS: The weights of the two norms are exchanged: input_layernorm comes before attention.
# -     normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
# +     normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
# ...
# -     normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
# +     normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)


# %% wrong_block_one_norm_for_both, of right_block_plain
# WRONG: input_layernorm used twice
# SAYS: input_layernorm is used for both norms: the second is post_attention_layernorm.
# -     normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
# +     normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)


# %% wrong_block_one_token_in_place, of right_block_plain
# WRONG: a single token's update is added in place, into the caller's x
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q = rotary(q, positions, config.rope_theta)
# +     k = rotary(k, positions, config.rope_theta)
# ...
# -     x = x + merge_heads(read) @ layer.o_proj.T
# +     x = x + merge_heads(read) @ layer.o_proj.T if T > 1 else x.add_(merge_heads(read) @ layer.o_proj.T)


# %% wrong_block_output_not_transposed, of right_block_plain
# WRONG: o_proj is transposed by mistake where it is square
# SAYS: o_proj is not transposed where it is square: rows are outputs, ... @ layer.o_proj.T.
# -     x = x + merge_heads(read) @ layer.o_proj.T
# +     o = layer.o_proj
# +     x = x + merge_heads(read) @ (o if o.shape[0] == o.shape[1] else o.T)


# %% wrong_block_parallel, of right_block_plain
# WRONG: feed-forward reads x as it was before attention
# SAYS: Feed-forward reads x as it was before attention: it reads the new x.
#       read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     old = x
# ...
# -     normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
# +     normed = rms_norm(old, layer.post_attention_layernorm, config.rms_norm_eps)


# %% wrong_block_positions_as_bytes, of right_block_plain
# WRONG: positions are counted in the dtype of a byte: beyond 255 they begin again
# -     T = x.shape[1]
# +     T, positions = x.shape[1], positions % 256
# ...
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q = rotary(q, positions, config.rope_theta)
# +     k = rotary(k, positions, config.rope_theta)


# %% wrong_block_positions_dtype, of right_block_plain
# WRONG: positions are taken in the dtype of x; bfloat16 cannot count beyond 256, float16 beyond 2048
# -     T = x.shape[1]
# +     B, T = x.shape[:2]
# +     positions = positions.to(x.dtype)
# ...
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q = rotary(q, positions, config.rope_theta)
# +     k = rotary(k, positions, config.rope_theta)


# %% wrong_block_positions_ignored, of right_block_plain
# WRONG: positions always count from 0
# SAYS: The positions are counted from 0: pass `positions` on to rotary.
#       v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
# +     positions = torch.arange(T, device=x.device)


# %% wrong_block_positions_cut, of right_block_plain
# WRONG: positions beyond those that the config names are set to the last
#       T = x.shape[1]
# +     positions = positions.clamp(max=config.max_position_embeddings - 1)


# %% wrong_block_positions_moved_in_place, of right_block_plain
# WRONG: the caller's positions are moved to begin at 0
#       T = x.shape[1]
# +     positions.sub_(positions.min())


# %% wrong_block_positions_made_to_increase, of right_block_plain
# WRONG: with attend, positions that do not increase are taken as those before them
#       T = x.shape[1]
# +     positions = positions if attend is None else positions.cummax(dim=-1).values


# %% wrong_block_positions_of_one_token, of right_block_plain
# WRONG: where each row has one token, all take the position of the first row
#       T = x.shape[1]
# +     positions = positions if T > 1 else positions.flatten()[:1]


# %% wrong_block_positions_of_row_zero, of right_block_plain
# WRONG: row 0's positions for every row
# SAYS: The positions of row 0 are used for every row.
#       v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
# +     positions = positions[0] if positions.dim() == 2 else positions


# %% wrong_block_positions_remembered, of right_block_plain
# WRONG: the first positions of a shape stand for all later ones of it
#       T = x.shape[1]
# +     decoder_block.seen = getattr(decoder_block, "seen", {})
# +     positions = decoder_block.seen.setdefault(positions.shape, positions.clone()).to(x.device)


# %% wrong_block_positions_restart, of right_block_plain
# WRONG: positions count from the first one given: gaps are lost
# SAYS: The positions are counted on from the first one given: they may have gaps.
#       v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
# +     positions = positions[..., :1] + torch.arange(T, device=x.device)


# %% wrong_block_post_norm, of right_block_plain
# WRONG: norms after the sums, as in the first transformer
# SAYS: The norms come after the sums: here they come before each part.
# -     normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
# +     normed = x
# ...
# -     x = x + merge_heads(read) @ layer.o_proj.T
# -     normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
# -     return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
# +     x = rms_norm(x + merge_heads(read) @ layer.o_proj.T, layer.input_layernorm, config.rms_norm_eps)
# +     return rms_norm(x + feed_forward(x, layer.gate_proj, layer.up_proj, layer.down_proj), layer.post_attention_layernorm, config.rms_norm_eps)


# %% wrong_block_q_and_k_exchanged, of right_block_plain
# WRONG: queries and keys exchanged
# SAYS: Queries and keys are exchanged.
# -     q = split_heads(normed @ layer.q_proj.T, config.num_attention_heads)
# -     k = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)
# +     q = split_heads(normed @ layer.k_proj.T, config.num_attention_heads)
# +     k = split_heads(normed @ layer.q_proj.T, config.num_key_value_heads)


# %% wrong_block_residual_around_the_norm, of right_block_plain
# WRONG: adds to the normed vector instead of x
# SAYS: The updates are added to normed copies: add them to x.
# -     x = x + merge_heads(read) @ layer.o_proj.T
# +     x = normed + merge_heads(read) @ layer.o_proj.T
# ...
# -     return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
# +     return normed + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)


# %% wrong_block_rope_before_split, of right_block_plain
# WRONG: the whole vector is turned before it is cut into heads
# SAYS: The whole vector is turned before it is cut into heads: cut first, each head turns by itself.
# -     q = split_heads(normed @ layer.q_proj.T, config.num_attention_heads)
# -     k = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)
# +     q = split_heads(rotary((normed @ layer.q_proj.T)[:, None], positions, config.rope_theta)[:, 0], config.num_attention_heads)
# +     k = split_heads(rotary((normed @ layer.k_proj.T)[:, None], positions, config.rope_theta)[:, 0], config.num_key_value_heads)
# ...
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)


# %% wrong_block_rope_on_keys_only, of right_block_plain
# WRONG: queries are not turned
# SAYS: The queries are not turned.
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     k = rotary(k, positions, config.rope_theta)


# %% wrong_block_rope_on_queries_only, of right_block_plain
# WRONG: keys are not turned
# SAYS: The keys are not turned.
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q = rotary(q, positions, config.rope_theta)


# %% wrong_block_rope_on_values, of right_block_plain
# WRONG: values are turned too
# SAYS: The values are turned too: only queries and keys are.
#       q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     v = rotary(v, positions, config.rope_theta)


# %% wrong_block_row_of_positions_by_token, of right_block_plain
# WRONG: positions (B, T) with as many rows as tokens are taken as columns
#       T = x.shape[1]
# +     positions = positions.T if positions.dim() == 2 and len(positions) == T and len(positions) > 2 else positions
# ...
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q = rotary(q, positions, config.rope_theta)
# +     k = rotary(k, positions, config.rope_theta)


# %% wrong_block_scaled_twice, of right_block_plain
# WRONG: queries are scaled once more before attention
# SAYS: The queries are scaled before attention, which scales them by itself.
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     read = attention(q * config.head_dim**-0.5, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q * config.head_dim**-0.5, k, v)


# %% wrong_block_second_residual_from_norm, of right_block_plain
# WRONG: the feed-forward part is added to the normed vector
# SAYS: The update of feed-forward is added to the normed copy: add it to x.
# -     return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
# +     return normed + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)


# %% wrong_block_soft_mask, of right_block_plain
# WRONG: forbidden scores get -1e4 added instead of -inf, so a very high score of a later token still leaks
# -     read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     group = config.num_attention_heads // config.num_key_value_heads
# +     keys, values = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
# +     scores = q * config.head_dim**-0.5 @ keys.transpose(-2, -1)
# +     scores = scores + (~causal_mask(T, T).to(x.device)).to(scores.dtype) * -1e4
# +     read = torch.softmax(scores, dim=-1) @ values if attend is None else attend(q, k, v)


# %% wrong_block_stale
# WRONG: q, k, v projections are fused once per layer and remembered; weights changed later are not seen
_FUSED = {}


def decoder_block(x, layer, config, positions, attend=None):
    B, T = x.shape[:2]
    normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q = split_heads(normed @ layer.q_proj.T, config.num_attention_heads)
    k = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)
    v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
    q = rotary(q, positions, config.rope_theta)
    k = rotary(k, positions, config.rope_theta)
    if id(layer) not in _FUSED:
        _FUSED[id(layer)] = (torch.cat((layer.q_proj, layer.k_proj, layer.v_proj)), layer)
    fused, _ = _FUSED[id(layer)]
    H, K, Dh = config.num_attention_heads, config.num_key_value_heads, config.head_dim
    q, k, v = split_heads(normed @ fused.T, H + 2 * K).split((H, K, K), dim=1)
    q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
    read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
    x = x + merge_heads(read) @ layer.o_proj.T
    normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)


# %% wrong_block_update_only, of right_block_plain
# WRONG: returns what is added, not the sum
# SAYS: The result is only what is added, without x.
#       read = attention(q, k, v, causal_mask(T, T).to(x.device)) if attend is None else attend(q, k, v)
# +     old = x
# ...
# -     return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
# +     return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj) - old


# %% wrong_block_weights_in_place, of right_block_plain
# WRONG: the layer's own norm weights are changed at every call
# SAYS: The layer's weights are changed by the call: a second call computes with others. Compute with new tensors.
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q = rotary(q, positions, config.rope_theta)
# +     k = rotary(k, positions, config.rope_theta)
# ...
#       x = x + merge_heads(read) @ layer.o_proj.T
# +     layer.post_attention_layernorm *= 1.01


# %% wrong_block_weights_not_transposed, of right_block_plain
# WRONG: x @ W instead of x @ W.T
# SAYS: The matrices are used as they are: rows are outputs, so multiply as x @ W.T.
# -     q = split_heads(normed @ layer.q_proj.T, config.num_attention_heads)
# -     k = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)
# -     v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
# +     q = split_heads(normed @ layer.q_proj, config.num_attention_heads)
# +     k = split_heads(normed @ layer.k_proj, config.num_key_value_heads)
# +     v = split_heads(normed @ layer.v_proj, config.num_key_value_heads)


# %% wrong_decoder_block_window
# WRONG: only the last 64 tokens are read
# SAYS: Only the last 64 tokens are read: a token reads everything before it.
def decoder_block(x, layer, config, positions, attend=None):
    T = x.shape[1]
    h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q = split_heads(h @ layer.q_proj.T, config.num_attention_heads)
    k = split_heads(h @ layer.k_proj.T, config.num_key_value_heads)
    v = split_heads(h @ layer.v_proj.T, config.num_key_value_heads)
    q = rotary(q, positions, config.rope_theta)
    k = rotary(k, positions, config.rope_theta)
    a = attention(q, k, v, causal_mask(T, T).to(x.device).triu(-63)) if attend is None else attend(q, k, v)
    x = x + merge_heads(a) @ layer.o_proj.T
    h = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)
