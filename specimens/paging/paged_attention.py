# Versions of paged_attention, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_columns_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def paged_attention(q, keys, values, tables, lengths, block_size):
    B, H, _, Dh = q.shape
    K = keys.shape[1]
    precise = torch.promote_types(q.dtype, torch.float32)
    queries = q.to(precise).reshape(B, K, H // K, Dh) * Dh**-0.5
    state = State.empty((B, K, H // K), Dh, precise, q.device)
    places = torch.arange(block_size, device=q.device)
    for column in range(tables.shape[1]):
        slots = tables[:, column, None] * block_size + places
        k = keys[slots].transpose(1, 2).to(precise)
        v = values[slots].transpose(1, 2).to(precise)
        scores = queries @ k.transpose(-2, -1)
        positions = column * block_size + places
        hidden = positions >= lengths[:, None]
        scores = scores.masked_fill(hidden[:, None, None, :], -torch.inf)
        state = absorb(state, scores, v)
    out, _ = finish(state)
    return out.reshape(B, H, 1, Dh).to(q.dtype)


# %% right_columns_einsum
# RIGHT: every head gets its own copy of a block's keys; sums by einsum; the sums of softmax by hand

def paged_attention(q, keys, values, tables, lengths, block_size):
    B, H, _, Dh = q.shape
    group = H // keys.shape[1]
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    query = q[:, :, 0].to(wide) / Dh**0.5
    top = torch.full((B, H), -torch.inf, dtype=wide, device=q.device)
    total, acc = torch.zeros_like(top), torch.zeros(B, H, Dh, dtype=wide, device=q.device)
    for column, blocks in enumerate(tables.T):
        place = torch.arange(block_size, device=q.device)
        slots = (blocks[:, None] * block_size + place).flatten()
        k, v = (x.index_select(0, slots).view(B, block_size, -1, Dh).to(wide).repeat_interleave(group, dim=2) for x in (keys, values))
        scores = torch.einsum("bhd,bnhd->bhn", query, k)
        seen = (column * block_size + place < lengths[:, None]).unsqueeze(1)
        scores = torch.where(seen, scores, torch.tensor(-torch.inf, dtype=wide, device=q.device))
        largest = torch.maximum(top, scores.max(dim=-1).values)
        fade = torch.exp(top - largest)
        weights = torch.exp(scores - largest[..., None])
        total = total * fade + weights.sum(-1)
        acc = acc * fade[..., None] + torch.einsum("bhn,bnhd->bhd", weights, v)
        top = largest
    return (acc / total[..., None]).unsqueeze(2).to(q.dtype)


# %% right_columns_two_passes
# RIGHT: two passes over the columns: first the largest score of each row, then the sums under it

def paged_attention(q, keys, values, tables, lengths, block_size):
    B, H, _, Dh = q.shape
    K = keys.shape[1]
    precise = torch.promote_types(q.dtype, torch.float32)
    queries = q.to(precise).reshape(B, K, H // K, Dh) * Dh**-0.5
    places = torch.arange(block_size, device=q.device)

    def scores_of(column):
        slots = tables[:, column].unsqueeze(1) * block_size + places
        scores = queries @ keys[slots].to(precise).permute(0, 2, 3, 1)
        return scores.masked_fill((column * block_size + places >= lengths[:, None])[:, None, None], -torch.inf), slots

    rows = torch.full((B, K, H // K), -torch.inf, dtype=precise, device=q.device)
    sums, acc = torch.zeros_like(rows), torch.zeros_like(queries)
    lse = rows
    for column in range(tables.shape[1]):
        scores, _ = scores_of(column)
        lse = torch.logaddexp(lse, scores.logsumexp(dim=-1))
    for column in range(tables.shape[1]):
        scores, slots = scores_of(column)
        acc = acc + (scores - lse[..., None]).exp() @ values[slots].to(precise).transpose(1, 2)
    return acc.reshape(B, H, 1, Dh).to(q.dtype)


# %% wrong_columns_one_key_too_few, of right_columns_plain
# WRONG: the newest token of each row is not seen
# -         hidden = positions >= lengths[:, None]
# +         hidden = positions >= (lengths[:, None] - 1).clamp(min=1)

# %% wrong_columns_one_key_too_many, of right_columns_plain
# WRONG: the place after the newest token is seen too
# -         hidden = positions >= lengths[:, None]
# +         hidden = positions > lengths[:, None]

# %% wrong_columns_whole_blocks, of right_columns_plain
# WRONG: every place of a row's last block is seen
# -         hidden = positions >= lengths[:, None]
# +         hidden = positions >= -(lengths[:, None] // -block_size) * block_size

# %% wrong_columns_padding_is_seen, of right_columns_plain
# WRONG: what comes after a row's last token is not masked
# -         scores = scores.masked_fill(hidden[:, None, None, :], -torch.inf)

# %% wrong_columns_hidden_by_a_product, of right_columns_plain
# WRONG: scores of hidden places become 0, which still has a weight
# -         scores = scores.masked_fill(hidden[:, None, None, :], -torch.inf)
# +         scores = scores.masked_fill(hidden[:, None, None, :], 0.0)

# %% wrong_columns_places_in_the_block, of right_columns_plain
# WRONG: positions start again at 0 in every block
# -         positions = column * block_size + places
# +         positions = places

# %% wrong_columns_gathers_everything, of right_columns_plain
# WRONG: all blocks of all rows are gathered at once
# -     for column in range(tables.shape[1]):
# -         slots = tables[:, column, None] * block_size + places
# +     for column in range(1):
# +         slots = (tables[:, :, None] * block_size + places).flatten(1)
# ...
# -         positions = column * block_size + places
# +         positions = torch.arange(slots.shape[1], device=q.device)

# %% wrong_columns_slot_by_slot, of right_columns_plain
# WRONG: one slot at a time
# -     for column in range(tables.shape[1]):
# -         slots = tables[:, column, None] * block_size + places
# +     places = places[:1]
# +     for column in range(tables.shape[1] * block_size):
# +         slots = tables[:, column // block_size, None] * block_size + column % block_size
# ...
# -         positions = column * block_size + places
# +         positions = column + places

# %% wrong_columns_block_number_as_slot, of right_columns_plain
# WRONG: a block's number is taken for its first slot
# -         slots = tables[:, column, None] * block_size + places
# +         slots = tables[:, column, None] + places

# %% wrong_columns_not_scaled, of right_columns_plain
# WRONG: scores are not scaled
# -     queries = q.to(precise).reshape(B, K, H // K, Dh) * Dh**-0.5
# +     queries = q.to(precise).reshape(B, K, H // K, Dh)

# %% wrong_columns_scaled_by_width, of right_columns_plain
# WRONG: scores are divided by Dh
# -     queries = q.to(precise).reshape(B, K, H // K, Dh) * Dh**-0.5
# +     queries = q.to(precise).reshape(B, K, H // K, Dh) / Dh

# %% wrong_columns_heads_in_turn, of right_columns_plain
# WRONG: query head h uses key/value head h % K
# -     queries = q.to(precise).reshape(B, K, H // K, Dh) * Dh**-0.5
# +     queries = q.to(precise).reshape(B, H // K, K, Dh).transpose(1, 2) * Dh**-0.5

# %% wrong_columns_first_table, of right_columns_plain
# WRONG: all rows read the first one's table
# -         slots = tables[:, column, None] * block_size + places
# +         slots = tables[:1, column, None].expand(B, 1) * block_size + places

# %% wrong_columns_in_sixteen_bits, of right_columns_plain
# WRONG: the result has another dtype than the query
# -     return out.reshape(B, H, 1, Dh).to(q.dtype)
# +     return out.reshape(B, H, 1, Dh).to(torch.float32)

# %% wrong_columns_on_the_cpu, of right_columns_plain
# WRONG: the places of a block are made on the CPU
# -     places = torch.arange(block_size, device=q.device)
# +     places = torch.arange(block_size)

# %% right_columns_two_at_a_time
# RIGHT: two columns of blocks at a time; softmax's two sums by hand

def paged_attention(q, keys, values, tables, lengths, block_size):
    B, H, _, Dh = q.shape
    K = keys.shape[1]
    precise = torch.promote_types(q.dtype, torch.float32)
    queries = q.to(precise).reshape(B, K, H // K, Dh) / Dh**0.5
    m = torch.full((B, K, H // K, 1), -torch.inf, dtype=precise, device=q.device)
    l, acc = torch.zeros_like(m), torch.zeros_like(queries)
    for column in range(0, tables.shape[1], 2):
        blocks = tables[:, column : column + 2]
        n = blocks.shape[1] * block_size
        slots = (blocks[:, :, None] * block_size + torch.arange(block_size, device=q.device)).reshape(B, n)
        k, v = (memory[slots].transpose(1, 2).to(precise) for memory in (keys, values))
        seen = torch.arange(n, device=q.device) + column * block_size < lengths[:, None]
        scores = torch.where(seen[:, None, None], queries @ k.mT, -torch.inf)
        top = torch.maximum(m, scores.amax(-1, keepdim=True))
        weights, fade = (scores - top).exp(), (m - top).exp()
        l, acc, m = l * fade + weights.sum(-1, keepdim=True), acc * fade + weights @ v, top
    return (acc / l).reshape(B, H, 1, Dh).to(q.dtype)


# %% wrong_columns_mask_is_added, of right_columns_plain
# WRONG: -1e9 is added to hidden scores, which a larger score of a slot of nobody survives
# -         scores = scores.masked_fill(hidden[:, None, None, :], -torch.inf)
# +         scores = scores - 1e9 * hidden[:, None, None, :]

# %% wrong_columns_adds_minus_infinity, of right_columns_plain
# WRONG: -inf is added to hidden scores: where the score of a slot of nobody is inf, the sum is nan
# -         scores = scores.masked_fill(hidden[:, None, None, :], -torch.inf)
# +         scores = scores + torch.zeros_like(hidden, dtype=precise).masked_fill(hidden, -torch.inf)[:, None, None, :]

# %% wrong_columns_float16_stays, of right_columns_plain
# WRONG: bfloat16 is worked out in float32, and float16 is not
# -     precise = torch.promote_types(q.dtype, torch.float32)
# +     precise = torch.float32 if q.dtype == torch.bfloat16 else q.dtype

# %% wrong_columns_mask_of_ten_thousand, of right_columns_plain
# WRONG: hidden scores become -1e4, which is more than scores of -2e4
# -         scores = scores.masked_fill(hidden[:, None, None, :], -torch.inf)
# +         scores = scores.masked_fill(hidden[:, None, None, :], -1e4)

# %% wrong_columns_no_maximum, of right_columns_plain
# WRONG: exponentials are summed without a maximum: scores of a thousand are infinite
# -         state = absorb(state, scores, v)
# +         weights = scores.exp()
# +         state = State(torch.zeros_like(state.m), state.l + weights.sum(dim=-1), state.acc + weights @ v)

# %% wrong_columns_worked_out_in_sixteen_bits, of right_columns_plain
# WRONG: worked out in the query's dtype, also where that has 16 bits
# -     precise = torch.promote_types(q.dtype, torch.float32)
# +     precise = q.dtype

# %% wrong_columns_scores_in_sixteen_bits, of right_columns_plain
# WRONG: scores are products in 16 bits; only the sums over them are in float32
# -     queries = q.to(precise).reshape(B, K, H // K, Dh) * Dh**-0.5
# +     queries = q.reshape(B, K, H // K, Dh) * Dh**-0.5
# ...
# -         k = keys[slots].transpose(1, 2).to(precise)
# +         k = keys[slots].transpose(1, 2)
#           v = values[slots].transpose(1, 2).to(precise)
# -         scores = queries @ k.transpose(-2, -1)
# +         scores = (queries @ k.transpose(-2, -1)).to(precise)

# %% wrong_columns_whole_memory_in_float32, of right_columns_plain
# WRONG: a memory of 16 bits is turned to float32 whole, before the first column
# -     places = torch.arange(block_size, device=q.device)
# +     places = torch.arange(block_size, device=q.device)
# +     keys, values = keys.to(precise), values.to(precise)


# %% wrong_columns_64_of_them, of right_columns_plain
# WRONG: 64 columns of a table are read at most
# -     for column in range(tables.shape[1]):
# +     for column in range(min(tables.shape[1], 64)):


# %% wrong_columns_eight_rows, of right_columns_plain
# WRONG: only the first eight rows are worked out
# -     return out.reshape(B, H, 1, Dh).to(q.dtype)
# +     out[8:] = out[:1]
# +     return out.reshape(B, H, 1, Dh).to(q.dtype)


# %% wrong_columns_positions_in_half, of right_columns_plain
# WRONG: places and lengths are compared in the query's dtype: in bfloat16 those above 256 run together
# -         hidden = positions >= lengths[:, None]
# +         hidden = positions.to(q.dtype) >= lengths[:, None].to(q.dtype)


# %% wrong_columns_scaled_in_half, of right_columns_plain
# WRONG: the queries are scaled, and rounded, in their own dtype before they become float32
# -     queries = q.to(precise).reshape(B, K, H // K, Dh) * Dh**-0.5
# +     queries = (q * Dh**-0.5).to(precise).reshape(B, K, H // K, Dh)


# %% wrong_columns_state_of_q, of right_columns_plain
# WRONG: m, l and acc are kept in the query's dtype, 16 bits too
# -         state = absorb(state, scores, v)
# +         state = absorb(state, scores, v)
# +         state = State(*(part.to(q.dtype).to(precise) for part in (state.m, state.l, state.acc)))


# %% wrong_columns_wide_heads, of right_columns_plain
# WRONG: a head wider than 64 is scaled as one of 64
# -     queries = q.to(precise).reshape(B, K, H // K, Dh) * Dh**-0.5
# +     queries = q.to(precise).reshape(B, K, H // K, Dh) * min(Dh, 64) ** -0.5


# %% wrong_columns_groups_of_four, of right_columns_plain
# WRONG: of a group the heads from the fifth on get what the first one gets
# -     return out.reshape(B, H, 1, Dh).to(q.dtype)
# +     out[:, :, 4:] = out[:, :, :1]
# +     return out.reshape(B, H, 1, Dh).to(q.dtype)


# %% wrong_columns_slots_in_sixteen_bits, of right_columns_plain
# WRONG: slots pass through 16 bits, so that those from 32,768 on are negative
# -         slots = tables[:, column, None] * block_size + places
# +         slots = (tables[:, column, None] * block_size + places).to(torch.int16).long()


# %% wrong_columns_256_of_them, of right_columns_plain
# WRONG: 256 columns of a table are read at most
# -     for column in range(tables.shape[1]):
# +     for column in range(min(tables.shape[1], 256)):
