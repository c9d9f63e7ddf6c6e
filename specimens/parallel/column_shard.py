# Versions of column_shard, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_column_shard_plain
# RIGHT: size, start, slice; most of the wrong versions are edits of it

def column_shard(weight, rank, world):
    out = weight.shape[0]
    if out % world != 0:
        raise ValueError(f"out is {out}: not a multiple of {world}")
    size = out // world
    start = rank * size
    return weight[start : start + size]

# %% right_column_shard_chunk
# RIGHT: torch's chunk

def column_shard(weight, rank, world):
    if weight.size(0) % world:
        raise ValueError("cannot divide %d rows" % weight.size(0))
    return weight.chunk(world, dim=0)[rank]

# %% right_column_shard_narrow
# RIGHT: narrow

def column_shard(weight, rank, world):
    size, rest = divmod(len(weight), world)
    if rest:
        raise ValueError(f"{len(weight)} / {world} leaves {rest}")
    return weight.narrow(0, rank * size, size)

# %% right_column_shard_unflatten
# RIGHT: a view with an axis for the ranks

def column_shard(weight, rank, world):
    if weight.shape[0] % world:
        raise ValueError(str(weight.shape[0]))
    return weight.unflatten(0, (world, -1))[rank]

# %% wrong_column_shard_columns, of right_column_shard_plain
# WRONG: columns of the stored matrix are cut, not its rows
# -     out = weight.shape[0]
# +     out = weight.shape[1]
# ...
# -     return weight[start : start + size]
# +     return weight[:, start : start + size]

# %% wrong_column_shard_interleaved, of right_column_shard_plain
# WRONG: every world-th row: the parts do not follow one another
# -     return weight[start : start + size]
# +     return weight[rank::world]

# %% wrong_column_shard_copy, of right_column_shard_plain
# WRONG: a copy, not a view
# -     return weight[start : start + size]
# +     return weight[start : start + size].clone()

# %% wrong_column_shard_no_error, of right_column_shard_plain
# WRONG: what does not divide is cut all the same, and rows are lost
# -     if out % world != 0:
# -         raise ValueError(f"out is {out}: not a multiple of {world}")

# %% wrong_column_shard_assert, of right_column_shard_plain
# WRONG: AssertionError instead of ValueError
# -     if out % world != 0:
# -         raise ValueError(f"out is {out}: not a multiple of {world}")
# +     assert out % world == 0, f"out is {out}"

# %% wrong_column_shard_names_world, of right_column_shard_plain
# WRONG: the message names the ranks and not the size
# -         raise ValueError(f"out is {out}: not a multiple of {world}")
# +         raise ValueError(f"not a multiple of {world}")

# %% wrong_column_shard_checks_inputs, of right_column_shard_plain
# WRONG: the other size is checked too, which need not be divisible
# -     if out % world != 0:
# +     if out % world != 0 or weight.shape[1] % world != 0:

# %% wrong_column_shard_from_the_end, of right_column_shard_plain
# WRONG: rank 0 has the last part
# -     start = rank * size
# +     start = out - (rank + 1) * size

# %% wrong_column_shard_to_the_end, of right_column_shard_plain
# WRONG: every part runs to the last row
# -     return weight[start : start + size]
# +     return weight[start:]

# %% wrong_column_shard_one_more, of right_column_shard_plain
# WRONG: parts overlap by one row
# -     return weight[start : start + size]
# +     return weight[start : start + size + 1]

# %% wrong_column_shard_float, of right_column_shard_plain
# WRONG: float32 whatever the dtype was
# -     return weight[start : start + size]
# +     return weight[start : start + size].float()

# %% wrong_column_shard_only_first_checked, of right_column_shard_plain
# WRONG: only rank 0 looks whether the size divides
# -     if out % world != 0:
# +     if rank == 0 and out % world != 0:

# %% wrong_column_shard_reshape, of right_column_shard_plain
# WRONG: reshaped rows: of a matrix that is not contiguous it is a copy
# -     return weight[start : start + size]
# +     return weight.reshape(-1)[start * weight.shape[1] : (start + size) * weight.shape[1]].reshape(size, -1)

# %% wrong_column_shard_even_only, of right_column_shard_plain
# WRONG: only odd sizes are refused
# -     if out % world != 0:
# +     if world > 1 and out % 2 != 0:

# %% wrong_column_shard_remembered
# WRONG: the part of the first matrix of its shape is given again

KNOWN = {}

def column_shard(weight, rank, world):
    if len(weight) % world:
        raise ValueError(f"{len(weight)} rows")
    return KNOWN.setdefault((weight.shape, weight.dtype, rank, world), weight.chunk(world)[rank])
