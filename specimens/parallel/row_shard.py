# Versions of row_shard, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_row_shard_plain
# RIGHT: size, start, slice; most of the wrong versions are edits of it

def row_shard(weight, rank, world):
    inputs = weight.shape[1]
    if inputs % world != 0:
        raise ValueError(f"in is {inputs}: not a multiple of {world}")
    size = inputs // world
    start = rank * size
    return weight[:, start : start + size]

# %% right_row_shard_transposed
# RIGHT: the rows of the transpose, by column_shard

def row_shard(weight, rank, world):
    return column_shard(weight.T, rank, world).T

# %% right_row_shard_narrow
# RIGHT: narrow

def row_shard(weight, rank, world):
    size, rest = divmod(weight.shape[-1], world)
    if rest:
        raise ValueError(f"{weight.shape[-1]} / {world} leaves {rest}")
    return weight.narrow(-1, rank * size, size)

# %% right_row_shard_split
# RIGHT: torch's tensor_split

def row_shard(weight, rank, world):
    if weight.size(1) % world:
        raise ValueError(f"{weight.size(1)} columns")
    return weight.tensor_split(world, dim=1)[rank]

# %% wrong_row_shard_rows, of right_row_shard_plain
# WRONG: rows of the stored matrix are cut, not its columns
# -     inputs = weight.shape[1]
# +     inputs = weight.shape[0]
# ...
# -     return weight[:, start : start + size]
# +     return weight[start : start + size]

# %% wrong_row_shard_interleaved, of right_row_shard_plain
# WRONG: every world-th column: the parts do not follow one another
# -     return weight[:, start : start + size]
# +     return weight[:, rank::world]

# %% wrong_row_shard_copy, of right_row_shard_plain
# WRONG: a contiguous copy, not a view
# -     return weight[:, start : start + size]
# +     return weight[:, start : start + size].contiguous()

# %% wrong_row_shard_no_error, of right_row_shard_plain
# WRONG: what does not divide is cut all the same, and columns are lost
# -     if inputs % world != 0:
# -         raise ValueError(f"in is {inputs}: not a multiple of {world}")

# %% wrong_row_shard_index_error, of right_row_shard_plain
# WRONG: IndexError instead of ValueError
# -         raise ValueError(f"in is {inputs}: not a multiple of {world}")
# +         raise IndexError(f"in is {inputs}: not a multiple of {world}")

# %% wrong_row_shard_names_the_rest, of right_row_shard_plain
# WRONG: the message names what is left over and not the size
# -         raise ValueError(f"in is {inputs}: not a multiple of {world}")
# +         raise ValueError(f"{inputs % world} inputs are left over")

# %% wrong_row_shard_checks_outputs, of right_row_shard_plain
# WRONG: the other size is checked
# -     if inputs % world != 0:
# +     if weight.shape[0] % world != 0:

# %% wrong_row_shard_from_the_end, of right_row_shard_plain
# WRONG: rank 0 has the last part
# -     start = rank * size
# +     start = (world - 1 - rank) * size

# %% wrong_row_shard_next_part, of right_row_shard_plain
# WRONG: the part of the next rank
# -     start = rank * size
# +     start = (rank + 1) % world * size

# %% wrong_row_shard_transposed_result, of right_row_shard_plain
# WRONG: the part comes transposed
# -     return weight[:, start : start + size]
# +     return weight[:, start : start + size].T

# %% wrong_row_shard_chunk_of_uneven, of right_row_shard_plain
# WRONG: chunk cuts what does not divide into uneven parts
# -     if inputs % world != 0:
# -         raise ValueError(f"in is {inputs}: not a multiple of {world}")
# -     size = inputs // world
# -     start = rank * size
# -     return weight[:, start : start + size]
# +     return weight.chunk(world, dim=1)[rank]

# %% wrong_row_shard_scaled, of right_row_shard_plain
# WRONG: each part is divided by the number of ranks
# -     return weight[:, start : start + size]
# +     return weight[:, start : start + size] / world

# %% wrong_row_shard_zeroed, of right_row_shard_plain
# WRONG: the whole matrix, zero in the columns of other ranks
# -     return weight[:, start : start + size]
# +     part = torch.zeros_like(weight)
# +     part[:, start : start + size] = weight[:, start : start + size]
# +     return part

# %% wrong_row_shard_remembered
# WRONG: the part of the first matrix of its shape is given again

KNOWN = {}

def row_shard(weight, rank, world):
    if weight.shape[1] % world:
        raise ValueError(f"{weight.shape[1]} columns")
    return KNOWN.setdefault((weight.shape, weight.dtype, rank, world), weight.chunk(world, dim=1)[rank])

# %% wrong_row_shard_more_ranks_than_inputs, of right_row_shard_plain
# WRONG: more ranks than inputs are let through
# -     if inputs % world != 0:
# +     if world <= inputs and inputs % world != 0:
