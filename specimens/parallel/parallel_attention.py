# Versions of parallel_attention, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_parallel_attention_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def parallel_attention(x, layer, config, positions, mask, comm):
    H = config.num_attention_heads // comm.world
    K = len(kv_heads_of(config, comm.rank, comm.world))
    base = config.rope_theta
    q = split_heads(x @ layer.q_proj.T, H)
    k = split_heads(x @ layer.k_proj.T, K)
    v = split_heads(x @ layer.v_proj.T, K)
    q = rotary(q, positions, base)
    k = rotary(k, positions, base)
    read = attention(q, k, v, mask)
    part = merge_heads(read) @ layer.o_proj.T
    return ring_all_reduce(part, comm)

# %% right_parallel_attention_torchs
# RIGHT: torch's own attention; heads from the shapes of the part

def parallel_attention(x, layer, config, positions, mask, comm):
    def heads(matrix):
        y = torch.nn.functional.linear(x, matrix)
        return y.view(*y.shape[:2], -1, config.head_dim).transpose(1, 2)

    q, k = rotary(heads(layer.q_proj), positions, config.rope_theta), rotary(heads(layer.k_proj), positions, config.rope_theta)
    read = torch.nn.functional.scaled_dot_product_attention(q, k, heads(layer.v_proj), attn_mask=mask, enable_gqa=True)
    return ring_all_reduce(torch.nn.functional.linear(read.transpose(1, 2).flatten(2), layer.o_proj), comm)

# %% right_parallel_attention_one_product
# RIGHT: q, k and v in one product, turned together

def parallel_attention(x, layer, config, positions, mask, comm):
    Dh = config.head_dim
    sizes = [len(m) // Dh for m in (layer.q_proj, layer.k_proj, layer.v_proj)]
    every = split_heads(x @ torch.cat((layer.q_proj, layer.k_proj, layer.v_proj)).T, sum(sizes))
    turned = rotary(every[:, : sizes[0] + sizes[1]], positions, config.rope_theta)
    q, k, v = turned[:, : sizes[0]], turned[:, sizes[0] :], every[:, sizes[0] + sizes[1] :]
    return ring_all_reduce(merge_heads(attention(q, k, v, mask)) @ layer.o_proj.T, comm)

# %% wrong_parallel_attention_no_sum, of right_parallel_attention_plain
# WRONG: the own heads' part, not the sum over ranks
# -     return ring_all_reduce(part, comm)
# +     return part

# %% wrong_parallel_attention_gathered, of right_parallel_attention_plain
# WRONG: what the heads read is gathered too, besides the sum: more is sent than one all-reduce
# -     part = merge_heads(read) @ layer.o_proj.T
# +     ring_all_gather(read, comm)
# +     part = merge_heads(read) @ layer.o_proj.T

# %% wrong_parallel_attention_residual, of right_parallel_attention_plain
# WRONG: x is added before the sum: it counts as often as there are ranks
# -     part = merge_heads(read) @ layer.o_proj.T
# +     part = x + merge_heads(read) @ layer.o_proj.T

# %% wrong_parallel_attention_residual_after, of right_parallel_attention_plain
# WRONG: x is added after the sum, which the caller does
# -     return ring_all_reduce(part, comm)
# +     return x + ring_all_reduce(part, comm)

# %% wrong_parallel_attention_world_divides_kv, of right_parallel_attention_plain
# WRONG: K / world heads: with more ranks than heads there is none
# -     K = len(kv_heads_of(config, comm.rank, comm.world))
# +     K = config.num_key_value_heads // comm.world

# %% wrong_parallel_attention_normed_again, of right_parallel_attention_plain
# WRONG: x is normed, which it has been
# -     q = split_heads(x @ layer.q_proj.T, H)
# +     x = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
# +     q = split_heads(x @ layer.q_proj.T, H)

# %% wrong_parallel_attention_all_heads, of right_parallel_attention_plain
# WRONG: all query heads of the model are looked for in the part
# -     H = config.num_attention_heads // comm.world
# +     H = config.num_attention_heads

# %% wrong_parallel_attention_no_rotation_of_keys, of right_parallel_attention_plain
# WRONG: keys are not turned
# -     k = rotary(k, positions, base)

# %% wrong_parallel_attention_default_base, of right_parallel_attention_plain
# WRONG: queries and keys turn with base 10,000 whatever the config says
# -     base = config.rope_theta
# +     base = 10000.0

# %% wrong_parallel_attention_own_positions, of right_parallel_attention_plain
# WRONG: positions are counted from 0 whatever is given
# -     q = rotary(q, positions, base)
# -     k = rotary(k, positions, base)
# +     positions = torch.arange(x.shape[1])
# +     q = rotary(q, positions, base)
# +     k = rotary(k, positions, base)

# %% wrong_parallel_attention_positions_of_first_text, of right_parallel_attention_plain
# WRONG: every text of the batch turns by the positions of the first one
# -     base = config.rope_theta
# +     base = config.rope_theta
# +     positions = positions if positions.dim() == 1 else positions[0]

# %% wrong_parallel_attention_mask_of_first_text, of right_parallel_attention_plain
# WRONG: every text of the batch is masked as the first one
# -     read = attention(q, k, v, mask)
# +     read = attention(q, k, v, mask.reshape(-1, *mask.shape[-2:])[0])

# %% wrong_parallel_attention_rounded_positions, of right_parallel_attention_plain
# WRONG: positions are cast to the dtype of x: bfloat16 rounds those above 256
# -     base = config.rope_theta
# +     base = config.rope_theta
# +     positions = positions.to(x.dtype)

# %% wrong_parallel_attention_own_mask, of right_parallel_attention_plain
# WRONG: the causal mask, whatever is given
# -     read = attention(q, k, v, mask)
# +     read = attention(q, k, v, causal_mask(x.shape[1], x.shape[1]))

# %% wrong_parallel_attention_no_mask, of right_parallel_attention_plain
# WRONG: no mask: a token reads what comes later
# -     read = attention(q, k, v, mask)
# +     read = attention(q, k, v)

# %% wrong_parallel_attention_values_turned, of right_parallel_attention_plain
# WRONG: values are turned too
# -     read = attention(q, k, v, mask)
# +     read = attention(q, k, rotary(v, positions, base), mask)

# %% wrong_parallel_attention_summed_before_o, of right_parallel_attention_plain
# WRONG: the sum is over what the heads read, before o_proj
# -     part = merge_heads(read) @ layer.o_proj.T
# -     return ring_all_reduce(part, comm)
# +     return ring_all_reduce(merge_heads(read), comm) @ layer.o_proj.T

# %% wrong_parallel_attention_mean, of right_parallel_attention_plain
# WRONG: the mean over ranks, not the sum
# -     return ring_all_reduce(part, comm)
# +     return ring_all_reduce(part, comm) / comm.world

# %% wrong_parallel_attention_two_sums, of right_parallel_attention_plain
# WRONG: summed twice: a second all-reduce
# -     return ring_all_reduce(part, comm)
# +     return ring_all_reduce(ring_all_reduce(part, comm) / comm.world, comm)

# %% wrong_parallel_attention_in_float32, of right_parallel_attention_plain
# WRONG: the part is made float32 before it is sent
# -     return ring_all_reduce(part, comm)
# +     return ring_all_reduce(part.float(), comm).to(x.dtype)

# %% wrong_parallel_attention_in_place, of right_parallel_attention_plain
# WRONG: the result is written into x
# -     return ring_all_reduce(part, comm)
# +     return x.copy_(ring_all_reduce(part, comm))

# %% wrong_parallel_attention_bias, of right_parallel_attention_plain
# WRONG: something is added on every rank before the sum
# -     part = merge_heads(read) @ layer.o_proj.T
# +     part = merge_heads(read) @ layer.o_proj.T + layer.input_layernorm

# %% wrong_parallel_attention_weights_written, of right_parallel_attention_plain
# WRONG: k_proj is changed in place
# -     k = split_heads(x @ layer.k_proj.T, K)
# +     k = split_heads(x @ layer.k_proj.mul_(1.0 + 1e-12).T, K)

# %% wrong_parallel_attention_unsplit_rope, of right_parallel_attention_plain
# WRONG: turned before the heads are split: pairs are in other heads
# -     q = split_heads(x @ layer.q_proj.T, H)
# +     q = split_heads(rotary((x @ layer.q_proj.T).unsqueeze(1), positions, base).squeeze(1), H)
# ...
# -     q = rotary(q, positions, base)

# %% wrong_parallel_attention_whole_everywhere
# WRONG: every rank gathers the parts of all and computes the whole layer: no sum, all of the work

def parallel_attention(x, layer, config, positions, mask, comm):
    H, K = config.num_attention_heads, config.num_key_value_heads
    copies = max(comm.world // K, 1)
    q_proj = torch.cat(ring_all_gather(layer.q_proj, comm))
    k_proj, v_proj = (torch.cat(ring_all_gather(m, comm)[::copies]) for m in (layer.k_proj, layer.v_proj))
    o_proj = torch.cat(ring_all_gather(layer.o_proj, comm), dim=1)
    q, k = rotary(split_heads(x @ q_proj.T, H), positions, config.rope_theta), rotary(split_heads(x @ k_proj.T, K), positions, config.rope_theta)
    return merge_heads(attention(q, k, split_heads(x @ v_proj.T, K), mask)) @ o_proj.T

# %% wrong_parallel_attention_width_by_d, of right_parallel_attention_plain
# WRONG: a head's width is taken for D / H
# -     H = config.num_attention_heads // comm.world
# -     K = len(kv_heads_of(config, comm.rank, comm.world))
# +     Dh = config.hidden_size // config.num_attention_heads
# +     H, K = len(layer.q_proj) // Dh, len(layer.k_proj) // Dh

# %% wrong_parallel_attention_mask_of_rank_0, of right_parallel_attention_plain
# WRONG: only rank 0 masks
# -     read = attention(q, k, v, mask)
# +     read = attention(q, k, v, mask if comm.rank == 0 else None)

# %% wrong_parallel_attention_tiled_heads, of right_parallel_attention_plain
# WRONG: keys are tiled, not repeated: query head h reads head h mod K
# -     read = attention(q, k, v, mask)
# +     read = attention(q, k.repeat(1, H // K, 1, 1), v.repeat(1, H // K, 1, 1), mask)

# %% wrong_parallel_attention_remembered, of right_parallel_attention_plain
# WRONG: the first layer's queries are used in every layer
# -     q = split_heads(x @ layer.q_proj.T, H)
# +     known = parallel_attention.__dict__.setdefault((comm.rank, layer.q_proj.shape, layer.q_proj.dtype), layer.q_proj)
# +     q = split_heads(x @ known.T, H)

# %% wrong_parallel_attention_causal_too, of right_parallel_attention_plain
# WRONG: what comes later is never seen, whatever the mask says
# -     read = attention(q, k, v, mask)
# +     read = attention(q, k, v, mask & causal_mask(x.shape[1], x.shape[1]))


# %% wrong_parallel_attention_whole_counts, of right_parallel_attention_plain
# WRONG: queries and keys are split into as many heads as the whole model has
# -     H = config.num_attention_heads // comm.world
# -     K = len(kv_heads_of(config, comm.rank, comm.world))
# +     H = config.num_attention_heads
# +     K = config.num_key_value_heads


# %% wrong_parallel_attention_reshaped_heads, of right_parallel_attention_plain
# WRONG: queries, keys and values are reshaped to (B, heads, T, Dh), with no dimensions exchanged
# -     q = split_heads(x @ layer.q_proj.T, H)
# -     k = split_heads(x @ layer.k_proj.T, K)
# -     v = split_heads(x @ layer.v_proj.T, K)
# +     B, T, _ = x.shape
# +     q = (x @ layer.q_proj.T).reshape(B, H, T, -1)
# +     k = (x @ layer.k_proj.T).reshape(B, K, T, -1)
# +     v = (x @ layer.v_proj.T).reshape(B, K, T, -1)


# %% wrong_parallel_attention_merged_by_reshape, of right_parallel_attention_plain
# WRONG: the heads are merged by a reshape, with no dimensions exchanged
# -     part = merge_heads(read) @ layer.o_proj.T
# +     part = read.reshape(x.shape[0], x.shape[1], -1) @ layer.o_proj.T


# %% wrong_parallel_attention_narrow_heads, of right_parallel_attention_plain
# WRONG: a head reads its first 32 numbers only when it compares
# -     read = attention(q, k, v, mask)
# +     read = attention(q[..., :32], k[..., :32], v, mask)


# %% wrong_parallel_attention_groups_of_four, of right_parallel_attention_plain
# WRONG: four query heads at most share a key/value head
# -     read = attention(q, k, v, mask)
# +     group = min(H // K, 4)
# +     k, v = (torch.cat([each.repeat_interleave(group, dim=1)] * (H // K // group), dim=1)[:, :H] for each in (k, v))
# +     read = attention(q, k, v, mask)


# %% wrong_parallel_attention_four_ranks, of right_parallel_attention_plain
# WRONG: with more than four ranks what the heads read is gathered: more is sent than one all-reduce
#       part = merge_heads(read) @ layer.o_proj.T
# +     if comm.world > 4:
# +         return sum(ring_all_gather(part, comm))


# %% wrong_parallel_attention_32_tokens, of right_parallel_attention_plain
# WRONG: a token reads the 32 newest tokens at most
# -     read = attention(q, k, v, mask)
# +     places = torch.arange(x.shape[1])
# +     read = attention(q, k, v, mask & (places[:, None] - places < 32))
