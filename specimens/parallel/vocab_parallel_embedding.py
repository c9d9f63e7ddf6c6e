# Versions of vocab_parallel_embedding, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_vocab_embedding_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def vocab_parallel_embedding(table, ids, comm):
    n = table.shape[0]
    first = comm.rank * n
    mine = (ids >= first) & (ids < first + n)
    local = torch.where(mine, ids - first, 0)
    rows = table[local]
    rows = torch.where(mine.unsqueeze(-1), rows, 0.0)
    return ring_all_reduce(rows, comm)

# %% right_vocab_embedding_written
# RIGHT: zeros, and the own rows written into them

def vocab_parallel_embedding(table, ids, comm):
    n, D = table.shape
    local = ids - comm.rank * n
    mine = (0 <= local) & (local < n)
    rows = torch.zeros(*ids.shape, D, dtype=table.dtype, device=table.device)
    rows[mine] = table[local[mine]]
    return ring_all_reduce(rows, comm)

# %% right_vocab_embedding_extra_row
# RIGHT: one row of zeros after the table, for all other tokens

def vocab_parallel_embedding(table, ids, comm):
    n = len(table)
    with_zero = torch.cat((table, torch.zeros_like(table[:1])))
    place = torch.where(ids // n == comm.rank, ids % n, n)
    return ring_all_reduce(with_zero[place], comm)

# %% wrong_vocab_embedding_row_0, of right_vocab_embedding_plain
# WRONG: ids of other ranks read row 0, and it counts
# -     rows = torch.where(mine.unsqueeze(-1), rows, 0.0)

# %% wrong_vocab_embedding_wraps, of right_vocab_embedding_plain
# WRONG: ids of other ranks are taken modulo the part, and their rows count
# -     local = torch.where(mine, ids - first, 0)
# +     local = (ids - first) % n
# +     mine = torch.ones_like(mine)

# %% wrong_vocab_embedding_no_offset, of right_vocab_embedding_plain
# WRONG: ids are looked up without the rank's offset
# -     local = torch.where(mine, ids - first, 0)
# +     local = torch.where(ids < n, ids, 0)

# %% wrong_vocab_embedding_last_token, of right_vocab_embedding_plain
# WRONG: a part's last token belongs to nobody
# -     mine = (ids >= first) & (ids < first + n)
# +     mine = (ids >= first) & (ids < first + n - 1)

# %% wrong_vocab_embedding_first_token, of right_vocab_embedding_plain
# WRONG: a part's first token belongs to nobody
# -     mine = (ids >= first) & (ids < first + n)
# +     mine = (ids > first) & (ids < first + n)

# %% wrong_vocab_embedding_one_more, of right_vocab_embedding_plain
# WRONG: the next part's first token counts here too
# -     mine = (ids >= first) & (ids < first + n)
# +     mine = (ids >= first) & (ids <= first + n)
# ...
# -     local = torch.where(mine, ids - first, 0)
# +     local = torch.where(mine, ids - first, 0).clamp(max=n - 1)

# %% wrong_vocab_embedding_times_mask, of right_vocab_embedding_plain
# WRONG: rows are multiplied by 0, and 0 times inf is nan
# -     rows = torch.where(mine.unsqueeze(-1), rows, 0.0)
# +     rows = rows * mine.unsqueeze(-1)

# %% wrong_vocab_embedding_no_sum, of right_vocab_embedding_plain
# WRONG: zeros where another rank has the row: nothing is summed
# -     return ring_all_reduce(rows, comm)
# +     return rows

# %% wrong_vocab_embedding_mean, of right_vocab_embedding_plain
# WRONG: the mean over ranks, not the sum
# -     return ring_all_reduce(rows, comm)
# +     return ring_all_reduce(rows, comm) / comm.world

# %% wrong_vocab_embedding_float, of right_vocab_embedding_plain
# WRONG: float32 whatever the table's dtype is
# -     rows = torch.where(mine.unsqueeze(-1), rows, 0.0)
# +     rows = torch.where(mine.unsqueeze(-1), rows, 0.0).float()

# %% wrong_vocab_embedding_in_float32, of right_vocab_embedding_plain
# WRONG: rows are sent as float32: another number of bytes
# -     return ring_all_reduce(rows, comm)
# +     return ring_all_reduce(rows.float(), comm).to(table.dtype)

# %% wrong_vocab_embedding_ids_changed, of right_vocab_embedding_plain
# WRONG: ids are shifted in place
# -     local = torch.where(mine, ids - first, 0)
# +     local = ids.sub_(first).masked_fill(~mine, 0)

# %% wrong_vocab_embedding_gathered_table, of right_vocab_embedding_plain
# WRONG: the whole table is gathered
# -     return ring_all_reduce(rows, comm)
# +     return torch.cat(ring_all_gather(table, comm))[ids]

# %% wrong_vocab_embedding_per_row, of right_vocab_embedding_plain
# WRONG: an all-reduce for each text of the batch
# -     return ring_all_reduce(rows, comm)
# +     return torch.stack([ring_all_reduce(text, comm) for text in rows])

# %% wrong_vocab_embedding_shape, of right_vocab_embedding_plain
# WRONG: the tokens of all texts in one row
# -     return ring_all_reduce(rows, comm)
# +     return ring_all_reduce(rows.flatten(0, 1), comm)

# %% wrong_vocab_embedding_gathered_rows, of right_vocab_embedding_plain
# WRONG: every rank's rows are gathered and added up: more bytes with three ranks and more
# -     return ring_all_reduce(rows, comm)
# +     return torch.stack(ring_all_gather(rows, comm)).sum(0)

# %% wrong_vocab_embedding_interleaved, of right_vocab_embedding_plain
# WRONG: token id belongs to rank id % world
# -     mine = (ids >= first) & (ids < first + n)
# -     local = torch.where(mine, ids - first, 0)
# +     mine = ids % comm.world == comm.rank
# +     local = ids // comm.world

# %% wrong_vocab_embedding_remembered, of right_vocab_embedding_plain
# WRONG: the first table of its shape is used again
# -     rows = table[local]
# +     rows = vocab_parallel_embedding.__dict__.setdefault((table.shape, table.dtype), table)[local]

# %% wrong_vocab_embedding_made_finite, of right_vocab_embedding_plain
# WRONG: inf and nan are made numbers, in rows that are asked for too
# -     rows = torch.where(mine.unsqueeze(-1), rows, 0.0)
# +     rows = (rows * mine.unsqueeze(-1)).nan_to_num(0.0)

# %% wrong_vocab_embedding_second_row, of right_vocab_embedding_plain
# WRONG: ids of other ranks read row 1, which is not there where a rank has one row
# -     local = torch.where(mine, ids - first, 0)
# +     local = torch.where(mine, ids - first, 1)


# %% wrong_vocab_embedding_clamped, of right_vocab_embedding_plain
# WRONG: ids of other ranks are clamped, and their rows count
# -     local = torch.where(mine, ids - first, 0)
# -     rows = table[local]
# -     rows = torch.where(mine.unsqueeze(-1), rows, 0.0)
# +     rows = table[(ids - first).clamp(0, n - 1)]


# %% wrong_vocab_embedding_four_ranks, of right_vocab_embedding_plain
# WRONG: with more than four ranks the rows are gathered and added up: more bytes than needed
#       rows = torch.where(mine.unsqueeze(-1), rows, 0.0)
# +     if comm.world > 4:
# +         return sum(ring_all_gather(rows, comm))


# %% wrong_vocab_embedding_int16, of right_vocab_embedding_plain
# WRONG: ids are kept in 16 bits
#       n = table.shape[0]
# +     ids = ids.to(torch.int16).long()
