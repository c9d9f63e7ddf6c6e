# Versions of paged_decode, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_decode_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def paged_decode(model, ids, sequences, kv):
    pool = sequences[0].pool
    needed = sum(s.blocks_for(1) for s in sequences)
    if needed > pool.num_free:
        raise OutOfBlocks(f"{needed} blocks needed, {pool.num_free} free")
    for s in sequences:
        kv.copy(s.grow(1))
    lengths = torch.tensor([s.length for s in sequences], device=ids.device)
    new = torch.cat([s.slots(s.length - 1) for s in sequences])
    width = max(len(s.blocks) for s in sequences)
    tables = torch.zeros(len(sequences), width, dtype=torch.int64, device=ids.device)
    for row, s in enumerate(sequences):
        tables[row, : len(s.blocks)] = torch.tensor(s.blocks)
    positions = lengths[:, None] - 1

    def attend(layer, q, k, v):
        kv.write(layer, new, k[:, :, 0], v[:, :, 0])
        return paged_attention(q, kv.keys[layer], kv.values[layer], tables, lengths, kv.block_size)

    x = run_layers(model, ids, positions, attend)
    return x[:, -1] @ model.weights.lm_head.T


# %% right_decode_last_block_as_padding
# RIGHT: copies are gathered and made together; tables are padded with each row's own last block

def paged_decode(model, ids, sequences, kv):
    free = sequences[0].pool.num_free
    if free < sum(s.blocks_for(1) for s in sequences):
        raise OutOfBlocks("too few blocks for all rows")
    pairs = []
    for s in sequences:
        pairs += s.grow(1)
    kv.copy(pairs)
    columns = max(len(s.blocks) for s in sequences)
    tables = torch.tensor([s.blocks + s.blocks[-1:] * (columns - len(s.blocks)) for s in sequences], device=ids.device)
    lengths = torch.tensor([s.length for s in sequences], device=ids.device)
    last = torch.tensor([s.blocks[-1] * kv.block_size + (s.length - 1) % kv.block_size for s in sequences])

    def attend(layer, q, k, v):
        kv.write(layer, last, k.squeeze(2), v.squeeze(2))
        return paged_attention(q, kv.keys[layer], kv.values[layer], tables, lengths, kv.block_size)

    return (run_layers(model, ids, (lengths - 1).unsqueeze(1), attend) @ model.weights.lm_head.T).squeeze(1)


# %% right_decode_attention_row_by_row
# RIGHT: weights for all rows at once, attention for each row through its own slots

def paged_decode(model, ids, sequences, kv):
    if sum(s.blocks_for(1) for s in sequences) > sequences[0].pool.num_free:
        raise OutOfBlocks("too few blocks for all rows")
    for s in sequences:
        kv.copy(s.grow(1))
    slots = [s.slots() for s in sequences]
    new = torch.stack([row[-1] for row in slots])
    positions = torch.tensor([[len(row) - 1] for row in slots], device=ids.device)

    def attend(layer, q, k, v):
        kv.write(layer, new, k[:, :, 0], v[:, :, 0])
        outs = []
        for row, query in zip(slots, q):
            keys, values = kv.read(layer, row)
            out, _ = flash_attention(query[None], keys.transpose(0, 1)[None], values.transpose(0, 1)[None], causal=False)
            outs.append(out)
        return torch.cat(outs)

    return run_layers(model, ids, positions, attend)[:, 0] @ model.weights.lm_head.T


# %% wrong_decode_one_position, of right_decode_plain
# WRONG: all rows are turned by the position of the longest
# -     positions = lengths[:, None] - 1
# +     positions = (lengths.max() - 1).expand(len(sequences), 1)

# %% wrong_decode_position_too_far, of right_decode_plain
# WRONG: positions are one too large
# -     positions = lengths[:, None] - 1
# +     positions = lengths[:, None]

# %% wrong_decode_position_in_the_block, of right_decode_plain
# WRONG: positions start again in every block
# -     positions = lengths[:, None] - 1
# +     positions = (lengths[:, None] - 1) % kv.block_size

# %% wrong_decode_forgets_the_copies, of right_decode_plain
# WRONG: the blocks to copy are not copied
# -         kv.copy(s.grow(1))
# +         s.grow(1)

# %% wrong_decode_copies_the_last_only, of right_decode_plain
# WRONG: only the copies of the last row are made
# -     for s in sequences:
# -         kv.copy(s.grow(1))
# +     for s in sequences:
# +         pairs = s.grow(1)
# +     kv.copy(pairs)

# %% wrong_decode_grows_one_by_one, of right_decode_plain
# WRONG: rows grow until there are no blocks, so that a refused step has changed some
# -     needed = sum(s.blocks_for(1) for s in sequences)
# -     if needed > pool.num_free:
# -         raise OutOfBlocks(f"{needed} blocks needed, {pool.num_free} free")

# %% wrong_decode_asks_for_one_row, of right_decode_plain
# WRONG: room is asked for the row that needs most, not for all of them
# -     needed = sum(s.blocks_for(1) for s in sequences)
# +     needed = max(s.blocks_for(1) for s in sequences)

# %% wrong_decode_asks_for_a_block_each, of right_decode_plain
# WRONG: a block a row is asked for, also where the last one has room
# -     needed = sum(s.blocks_for(1) for s in sequences)
# +     needed = len(sequences)

# %% wrong_decode_lengths_before, of right_decode_plain
# WRONG: the newest token does not see itself
# -         return paged_attention(q, kv.keys[layer], kv.values[layer], tables, lengths, kv.block_size)
# +         return paged_attention(q, kv.keys[layer], kv.values[layer], tables, (lengths - 1).clamp(min=1), kv.block_size)

# %% wrong_decode_slot_before, of right_decode_plain
# WRONG: new keys and values are written over those of the token before
# -     new = torch.cat([s.slots(s.length - 1) for s in sequences])
# +     new = torch.cat([s.slots(s.length - 2, s.length - 1) for s in sequences])

# %% wrong_decode_layer_zero, of right_decode_plain
# WRONG: every layer reads the first one's memory
# -         return paged_attention(q, kv.keys[layer], kv.values[layer], tables, lengths, kv.block_size)
# +         return paged_attention(q, kv.keys[0], kv.values[0], tables, lengths, kv.block_size)

# %% wrong_decode_one_table, of right_decode_plain
# WRONG: all rows read through the first one's table
# -         tables[row, : len(s.blocks)] = torch.tensor(s.blocks)
# +         tables[row, : len(sequences[0].blocks)] = torch.tensor(sequences[0].blocks)

# %% wrong_decode_padded_in_front, of right_decode_plain
# WRONG: tables are padded on the left
# -         tables[row, : len(s.blocks)] = torch.tensor(s.blocks)
# +         tables[row, width - len(s.blocks) :] = torch.tensor(s.blocks)

# %% wrong_decode_three_axes, of right_decode_plain
# WRONG: the logits keep the axis of tokens
# -     return x[:, -1] @ model.weights.lm_head.T
# +     return x @ model.weights.lm_head.T

# %% wrong_decode_row_by_row
# WRONG: each row grows in a pass of its own, so that a refused step has changed those before it

def paged_decode(model, ids, sequences, kv):
    return torch.cat([forward_paged(model, row, s, kv)[:, -1] for row, s in zip(ids.split(1), sequences, strict=True)])

# %% wrong_decode_copies_take_no_block, of right_decode_plain
# WRONG: room is asked for rows whose last block is full, not for copies
# -     needed = sum(s.blocks_for(1) for s in sequences)
# +     needed = sum(s.length % s.block_size == 0 for s in sequences)

# %% wrong_decode_last_fork_copies_nothing, of right_decode_plain
# WRONG: of the forks of a block the last to grow is not counted, so that what has to be refused goes on
# -     needed = sum(s.blocks_for(1) for s in sequences)
# +     needed = sum(s.blocks_for(1) for s in sequences)
# +     shared = [s.blocks[-1] for s in sequences if s.tail_is_shared]
# +     needed -= sum(shared.count(block) == pool.holders(block) for block in set(shared))

# %% wrong_decode_grows_and_cuts, of right_decode_plain
# WRONG: what does not fit is grown and cut again: a shared block stays replaced by its copy
# -     if needed > pool.num_free:
# +     if needed > pool.num_free:
# +         for s in sequences:
# +             if s.blocks_for(1) <= pool.num_free:
# +                 kv.copy(s.grow(1))
# +                 s.truncate(s.length - 1)

# %% wrong_decode_a_pass_for_each_row
# WRONG: each row goes through the layers by itself, which reads all weights once a row

def paged_decode(model, ids, sequences, kv):
    needed = sum(s.blocks_for(1) for s in sequences)
    if needed > sequences[0].pool.num_free:
        raise OutOfBlocks(f"{needed} blocks needed")
    return torch.cat([forward_paged(model, row, s, kv)[:, -1] for row, s in zip(ids.split(1), sequences, strict=True)])


# %% wrong_decode_gathers_all_rows, of right_decode_plain
# WRONG: keys and values of all rows are gathered, padded to the longest
# -         return paged_attention(q, kv.keys[layer], kv.values[layer], tables, lengths, kv.block_size)
# +         slots = (tables[:, :, None] * kv.block_size + torch.arange(kv.block_size, device=ids.device)).flatten(1)
# +         group = q.shape[1] // k.shape[1]
# +         keys, values = (x[layer][slots].transpose(1, 2).repeat_interleave(group, dim=1) for x in (kv.keys, kv.values))
# +         hidden = torch.arange(slots.shape[1], device=ids.device) >= lengths[:, None]
# +         scores = q @ keys.transpose(-2, -1) * q.shape[-1] ** -0.5
# +         return scores.masked_fill(hidden[:, None, None], -torch.inf).softmax(dim=-1) @ values

# %% wrong_decode_asks_for_two_tokens, of right_decode_plain
# WRONG: room is asked for two tokens a row: a row whose last place is free is refused
# -     needed = sum(s.blocks_for(1) for s in sequences)
# +     needed = sum(s.blocks_for(2) for s in sequences)

# %% wrong_decode_float32, of right_decode_plain
# WRONG: logits are float32, whatever the model's dtype is
# -     return x[:, -1] @ model.weights.lm_head.T
# +     return (x[:, -1] @ model.weights.lm_head.T).float()

# %% wrong_decode_tables_on_the_cpu, of right_decode_plain
# WRONG: the tables are made on the CPU, wherever the model is
# -     tables = torch.zeros(len(sequences), width, dtype=torch.int64, device=ids.device)
# +     tables = torch.zeros(len(sequences), width, dtype=torch.int64)

# %% wrong_decode_lengths_on_the_cpu, of right_decode_plain
# WRONG: lengths, and with them positions, are made on the CPU, wherever the model is
# -     lengths = torch.tensor([s.length for s in sequences], device=ids.device)
# +     lengths = torch.tensor([s.length for s in sequences])

# %% wrong_decode_positions_on_the_cpu, of right_decode_attention_row_by_row
# WRONG: positions are made on the CPU, wherever the model is
# -     positions = torch.tensor([[len(row) - 1] for row in slots], device=ids.device)
# +     positions = torch.tensor([[len(row) - 1] for row in slots])


# %% wrong_decode_eight_rows, of right_decode_plain
# WRONG: from the ninth row on the logits are those of the first
# -     return x[:, -1] @ model.weights.lm_head.T
# +     logits = x[:, -1] @ model.weights.lm_head.T
# +     logits[8:] = logits[:1]
# +     return logits


# %% wrong_decode_64_columns, of right_decode_plain
# WRONG: of a text the first 64 blocks are read
# -         return paged_attention(q, kv.keys[layer], kv.values[layer], tables, lengths, kv.block_size)
# +         return paged_attention(q, kv.keys[layer], kv.values[layer], tables[:, :64], lengths, kv.block_size)


# %% wrong_decode_short_positions, of right_decode_plain
# WRONG: positions above 255 stay at 255
# -     positions = lengths[:, None] - 1
# +     positions = (lengths[:, None] - 1).clamp(max=255)


# %% wrong_decode_gradients_on, of right_decode_plain
# WRONG: gradients are on afterwards, though the caller had turned them off
# -     x = run_layers(model, ids, positions, attend)
# +     x = run_layers(model, ids, positions, attend)
# +     torch.set_grad_enabled(True)


# %% wrong_decode_gradients_off_after_a_refusal, of right_decode_plain
# WRONG: gradients are turned off, and after OutOfBlocks they stay off
# -     pool = sequences[0].pool
# +     pool, before = sequences[0].pool, torch.is_grad_enabled()
# +     torch.set_grad_enabled(False)
# ...
# -     x = run_layers(model, ids, positions, attend)
# +     x = run_layers(model, ids, positions, attend)
# +     torch.set_grad_enabled(before)


# %% wrong_decode_groups_of_32
# WRONG: more than 32 rows go through the layers in groups of 32, which reads the weights once a group

def paged_decode(model, ids, sequences, kv):
    needed = sum(s.blocks_for(1) for s in sequences)
    if needed > sequences[0].pool.num_free:
        raise OutOfBlocks(f"{needed} blocks needed")
    logits = []
    for first in range(0, len(sequences), 32):
        group = sequences[first : first + 32]
        for s in group:
            kv.copy(s.grow(1))
        lengths = torch.tensor([s.length for s in group], device=ids.device)
        new = torch.cat([s.slots(s.length - 1) for s in group])
        width = max(len(s.blocks) for s in group)
        tables = torch.tensor([s.blocks + [0] * (width - len(s.blocks)) for s in group], device=ids.device)

        def attend(layer, q, k, v):
            kv.write(layer, new, k[:, :, 0], v[:, :, 0])
            return paged_attention(q, kv.keys[layer], kv.values[layer], tables, lengths, kv.block_size)

        x = run_layers(model, ids[first : first + 32], lengths[:, None] - 1, attend)
        logits.append(x[:, -1] @ model.weights.lm_head.T)
    return torch.cat(logits)


# %% wrong_decode_sorts_the_callers_list, of right_decode_plain
# WRONG: the caller's list of sequences is sorted by length and stays sorted; the logits are in the old order
# -     pool = sequences[0].pool
# +     pool = sequences[0].pool
# +     order = sorted(range(len(sequences)), key=lambda row: sequences[row].length)
# +     sequences[:] = [sequences[row] for row in order]
# +     ids = ids[order]
# ...
# -     return x[:, -1] @ model.weights.lm_head.T
# +     back = torch.tensor(order, device=ids.device).argsort()
# +     return x[back, -1] @ model.weights.lm_head.T
