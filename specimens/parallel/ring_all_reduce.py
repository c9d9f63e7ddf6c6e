# Versions of ring_all_reduce, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_ring_all_reduce_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def ring_all_reduce(x, comm):
    n = comm.world
    flat = x.reshape(-1)
    size = flat.numel()
    missing = (n - size % n) % n
    padded = torch.cat((flat, flat.new_zeros(missing)))
    mine = ring_reduce_scatter(padded, comm)
    every = ring_all_gather(mine, comm)
    total = torch.cat(every)[:size]
    return total.reshape(x.shape)

# %% right_ring_all_reduce_own_ring
# RIGHT: the ring written out, in one loop

def ring_all_reduce(x, comm):
    n, rank = comm.world, comm.rank
    part = -(-x.numel() // n)
    row = x.new_zeros(n * part)
    row[: x.numel()] = x.flatten()
    parts = list(row.chunk(n)) if part else [row] * n
    for step in range(2 * (n - 1)):
        comm.send((rank + 1) % n, parts[(rank - step) % n])
        place = (rank - step - 1) % n
        got = comm.recv((rank - 1) % n)
        parts[place] = parts[place] + got if step < n - 1 else got
    return torch.cat(parts)[: x.numel()].view(x.shape)

# %% right_ring_all_reduce_alone_first
# RIGHT: one rank alone is a case of its own

def ring_all_reduce(x, comm):
    if comm.world == 1:
        return x.clone()
    row = x.flatten()
    rest = len(row) % comm.world
    if rest:
        row = torch.nn.functional.pad(row, (0, comm.world - rest))
    parts = ring_all_gather(ring_reduce_scatter(row, comm), comm)
    return torch.cat(parts)[: x.numel()].reshape(x.shape)


# %% wrong_ring_all_reduce_own_order
# WRONG: each rank adds up in its own order, so the last bits differ between ranks, and sends all of x

def ring_all_reduce(x, comm):
    total, travelling = x.clone(), x
    for step in range(comm.world - 1):
        comm.send((comm.rank + 1) % comm.world, travelling)
        travelling = comm.recv((comm.rank - 1) % comm.world)
        total = total + travelling
    return total

# %% wrong_ring_all_reduce_gather_only, of right_ring_all_reduce_plain
# WRONG: every rank's x is gathered and added up: (n - 1) times its bytes
# -     mine = ring_reduce_scatter(padded, comm)
# -     every = ring_all_gather(mine, comm)
# -     total = torch.cat(every)[:size]
# +     every = ring_all_gather(padded, comm)
# +     total = torch.stack(every).sum(0)[:size]

# %% wrong_ring_all_reduce_through_rank_0
# WRONG: everything goes to rank 0 and comes back from there

def ring_all_reduce(x, comm):
    if comm.rank:
        comm.send(0, x)
        return comm.recv(0)
    total = x.clone()
    for source in range(1, comm.world):
        total += comm.recv(source)
    for other in range(1, comm.world):
        comm.send(other, total)
    return total

# %% wrong_ring_all_reduce_padding_left, of right_ring_all_reduce_plain
# WRONG: the zeros stay in the result
# -     total = torch.cat(every)[:size]
# -     return total.reshape(x.shape)
# +     return torch.cat(every)

# %% wrong_ring_all_reduce_no_padding, of right_ring_all_reduce_plain
# WRONG: nothing is padded
# -     padded = torch.cat((flat, flat.new_zeros(missing)))
# +     padded = flat

# %% wrong_ring_all_reduce_always_padded, of right_ring_all_reduce_plain
# WRONG: a whole part too many where the length is a multiple already
# -     missing = (n - size % n) % n
# +     missing = n - size % n

# %% wrong_ring_all_reduce_padded_in_front, of right_ring_all_reduce_plain
# WRONG: padded in front: the wrong end is cut
# -     padded = torch.cat((flat, flat.new_zeros(missing)))
# +     padded = torch.cat((flat.new_zeros(missing), flat))

# %% wrong_ring_all_reduce_flat, of right_ring_all_reduce_plain
# WRONG: the result has lost its shape
# -     return total.reshape(x.shape)
# +     return total

# %% wrong_ring_all_reduce_transposed, of right_ring_all_reduce_plain
# WRONG: the numbers are put back in another order than they were taken
# -     flat = x.reshape(-1)
# +     flat = x.transpose(0, -1).reshape(-1) if x.dim() else x.reshape(-1)

# %% wrong_ring_all_reduce_mean, of right_ring_all_reduce_plain
# WRONG: the mean over ranks, not the sum
# -     return total.reshape(x.shape)
# +     return total.reshape(x.shape) / n

# %% wrong_ring_all_reduce_float, of right_ring_all_reduce_plain
# WRONG: it travels as float32: right for few dtypes, and another number of bytes for all others
# -     flat = x.reshape(-1)
# +     flat = x.reshape(-1).float()
# ...
# -     return total.reshape(x.shape)
# +     return total.reshape(x.shape).to(x.dtype)

# %% wrong_ring_all_reduce_float_result, of right_ring_all_reduce_plain
# WRONG: float32 whatever the dtype was
# -     return total.reshape(x.shape)
# +     return total.reshape(x.shape).float()

# %% wrong_ring_all_reduce_in_place, of right_ring_all_reduce_plain
# WRONG: the sum is written into x
# -     return total.reshape(x.shape)
# +     x.copy_(total.reshape(x.shape))
# +     return x

# %% wrong_ring_all_reduce_own_part_only, of right_ring_all_reduce_plain
# WRONG: nothing is gathered: each rank has its own part of the sum, and zeros
# -     every = ring_all_gather(mine, comm)
# +     every = [torch.zeros_like(mine)] * n
# +     every[comm.rank] = mine

# %% wrong_ring_all_reduce_twice, of right_ring_all_reduce_plain
# WRONG: reduced twice: world times the sum
# -     return total.reshape(x.shape)
# +     return torch.stack(ring_all_gather(total.reshape(x.shape), comm)).sum(0)

# %% wrong_ring_all_reduce_rank_order, of right_ring_all_reduce_plain
# WRONG: the parts are joined beginning with the own one
# -     total = torch.cat(every)[:size]
# +     total = torch.cat(every[comm.rank :] + every[: comm.rank])[:size]

# %% wrong_ring_all_reduce_remembered, of right_ring_all_reduce_plain
# WRONG: the first sum of a shape is given again
# -     return total.reshape(x.shape)
# +     return ring_all_reduce.__dict__.setdefault((x.shape, x.dtype), total.reshape(x.shape))

# %% wrong_ring_all_reduce_own_kept, of right_ring_all_reduce_plain
# WRONG: each rank adds its own share to what it has sent as well: its part counts it twice
# -     mine = ring_reduce_scatter(padded, comm)
# +     mine = ring_reduce_scatter(padded, comm) + (padded.chunk(n)[comm.rank] if n > 1 else 0)

# %% wrong_ring_all_reduce_rounded_own, of right_ring_all_reduce_plain
# WRONG: a rank keeps its own part before it is rounded to x's dtype: other bits than those it sends
# -     total = torch.cat(every)[:size]
# +     if n > 1 and x.is_floating_point():
# +         every[comm.rank] = every[comm.rank] * (1 + torch.finfo(x.dtype).eps)
# +     total = torch.cat(every)[:size]

# %% wrong_ring_all_reduce_zeros_of_float32, of right_ring_all_reduce_plain
# WRONG: the zeros are float32: so is what they are joined with, or an error
# -     padded = torch.cat((flat, flat.new_zeros(missing)))
# +     padded = torch.cat((flat, torch.zeros(missing)))

# %% wrong_ring_all_reduce_whole_rows, of right_ring_all_reduce_plain
# WRONG: whole rows of zeros are added: more bytes than needed
# -     padded = torch.cat((flat, flat.new_zeros(missing)))
# +     padded = torch.cat((flat, flat.new_zeros(missing + n * (missing > 0))))


# %% wrong_ring_all_reduce_five_ranks, of right_ring_all_reduce_plain
# WRONG: with more than four ranks all of x is gathered: more bytes than needed
#       n = comm.world
# +     if n > 4:
# +         return sum(ring_all_gather(x, comm))


# %% wrong_ring_all_reduce_eight_ranks
# WRONG: the ring is written out for up to seven ranks
def ring_all_reduce(x, comm):
    n, rank = comm.world, comm.rank
    part = -(-x.numel() // n)
    row = x.new_zeros(n * part)
    row[: x.numel()] = x.flatten()
    parts = list(row.chunk(n)) if part else [row] * n
    for step in range(min(2 * (n - 1), 12)):
        comm.send((rank + 1) % n, parts[(rank - step) % n])
        place = (rank - step - 1) % n
        got = comm.recv((rank - 1) % n)
        parts[place] = parts[place] + got if step < n - 1 else got
    return torch.cat(parts)[: x.numel()].view(x.shape)


# %% wrong_ring_all_reduce_memory_order, of right_ring_all_reduce_plain
# WRONG: numbers travel in the order of memory: ranks whose x have another layout add other places
# -     flat = x.reshape(-1)
# +     order = sorted(range(x.dim()), key=lambda dim: -x.stride(dim))
# +     flat = x.permute(order).reshape(-1)
# ...
# -     return total.reshape(x.shape)
# +     return total.reshape([x.shape[dim] for dim in order]).permute(sorted(range(x.dim()), key=order.__getitem__))


# %% wrong_ring_all_reduce_three_dimensions, of right_ring_all_reduce_plain
# WRONG: of x with more than three dimensions the last ones are merged
# -     return total.reshape(x.shape)
# +     return total.reshape(x.shape[:2] + (-1,) if x.dim() > 3 else x.shape)


# %% wrong_ring_all_reduce_large_x, of right_ring_all_reduce_plain
# WRONG: beyond 4,096 numbers every rank's x is gathered and added up: more bytes than needed
#       n = comm.world
# +     if x.numel() > 4096:
# +         return sum(ring_all_gather(x, comm))


# %% wrong_ring_all_reduce_in_pieces, of right_ring_all_reduce_plain
# WRONG: x goes around in pieces of 4,096 numbers: more messages than needed
#       n = comm.world
# +     if x.numel() > 4096:
# +         return torch.cat([ring_all_reduce(piece, comm) for piece in x.flatten().split(4096)]).view(x.shape)


# %% wrong_ring_all_reduce_whole_numbers, of right_ring_all_reduce_plain
# WRONG: whole numbers are added as float32, which has no whole numbers beyond 2**24 but even ones
# -     mine = ring_reduce_scatter(padded, comm)
# +     mine = ring_reduce_scatter(padded if x.is_floating_point() else padded.float(), comm).to(x.dtype)


# %% wrong_ring_all_reduce_alone_float32, of right_ring_all_reduce_plain
# WRONG: one rank alone gives float64 as float32
#       n = comm.world
# +     if n == 1 and x.dtype == torch.float64:
# +         return x.float()
