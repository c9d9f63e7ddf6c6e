# Versions of ring_all_gather, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_ring_all_gather_plain
# RIGHT: places in a list; most of the wrong versions are edits of it

def ring_all_gather(chunk, comm):
    n = comm.world
    chunks = [None] * n
    chunks[comm.rank] = chunk
    right = (comm.rank + 1) % n
    left = (comm.rank - 1) % n
    for step in range(n - 1):
        comm.send(right, chunks[(comm.rank - step) % n])
        chunks[(comm.rank - step - 1) % n] = comm.recv(left)
    return chunks

# %% right_ring_all_gather_turned
# RIGHT: in the order of arrival, turned into rank order at the end

def ring_all_gather(chunk, comm):
    arrived = [chunk]
    while len(arrived) < comm.world:
        comm.send((comm.rank + 1) % comm.world, arrived[-1])
        arrived.append(comm.recv((comm.rank - 1) % comm.world))
    return [arrived[(comm.rank - source) % comm.world] for source in range(comm.world)]

# %% right_ring_all_gather_stacked
# RIGHT: one tensor with a row for each rank, and its rows

def ring_all_gather(chunk, comm):
    every = torch.empty((comm.world, *chunk.shape), dtype=chunk.dtype, device=chunk.device)
    every[comm.rank] = chunk
    source = comm.rank
    for _ in range(1, comm.world):
        comm.send((comm.rank + 1) % comm.world, every[source])
        source = (source - 1) % comm.world
        every[source] = comm.recv((comm.rank - 1) % comm.world)
    return list(every.unbind(0))

# %% wrong_ring_all_gather_arrival_order, of right_ring_all_gather_plain
# WRONG: chunks are in the order of arrival, the own one first
# -         chunks[(comm.rank - step - 1) % n] = comm.recv(left)
# +         chunks[(comm.rank - step - 1) % n] = comm.recv(left)
# +     chunks = [chunks[(comm.rank - i) % n] for i in range(n)]

# %% wrong_ring_all_gather_own_again, of right_ring_all_gather_plain
# WRONG: every rank sends its own chunk in every step: right with two ranks only
# -         comm.send(right, chunks[(comm.rank - step) % n])
# +         comm.send(right, chunk)

# %% wrong_ring_all_gather_other_way, of right_ring_all_gather_plain
# WRONG: what comes from the left is put to the right
# -         chunks[(comm.rank - step - 1) % n] = comm.recv(left)
# +         chunks[(comm.rank + step + 1) % n] = comm.recv(left)
# ...
# -         comm.send(right, chunks[(comm.rank - step) % n])
# +         comm.send(right, chunks[(comm.rank + step) % n])

# %% wrong_ring_all_gather_receive_first, of right_ring_all_gather_plain
# WRONG: every rank receives before it sends: nobody begins
# -         comm.send(right, chunks[(comm.rank - step) % n])
# -         chunks[(comm.rank - step - 1) % n] = comm.recv(left)
# +         chunks[(comm.rank - step - 1) % n] = comm.recv(left)
# +         comm.send(right, chunks[(comm.rank - step) % n])

# %% wrong_ring_all_gather_all_to_all
# WRONG: each rank sends its chunk to every other one: right chunks, but not around the ring

def ring_all_gather(chunk, comm):
    for other in range(comm.world):
        if other != comm.rank:
            comm.send(other, chunk)
    return [chunk if other == comm.rank else comm.recv(other) for other in range(comm.world)]

# %% wrong_ring_all_gather_through_rank_0
# WRONG: everything goes to rank 0 and comes back from there

def ring_all_gather(chunk, comm):
    if comm.rank:
        comm.send(0, chunk)
        return [comm.recv(0) for _ in range(comm.world)]
    chunks = [chunk] + [comm.recv(source) for source in range(1, comm.world)]
    for other in range(1, comm.world):
        for each in chunks:
            comm.send(other, each)
    return chunks

# %% wrong_ring_all_gather_joined, of right_ring_all_gather_plain
# WRONG: one tensor instead of a list
# -     return chunks
# +     return torch.cat(chunks)

# %% wrong_ring_all_gather_flat, of right_ring_all_gather_plain
# WRONG: chunks arrive without their shape
# -         chunks[(comm.rank - step - 1) % n] = comm.recv(left)
# +         chunks[(comm.rank - step - 1) % n] = comm.recv(left).flatten()

# %% wrong_ring_all_gather_float, of right_ring_all_gather_plain
# WRONG: what arrives is made float32
# -         chunks[(comm.rank - step - 1) % n] = comm.recv(left)
# +         chunks[(comm.rank - step - 1) % n] = comm.recv(left).float()

# %% wrong_ring_all_gather_one_step_more, of right_ring_all_gather_plain
# WRONG: the own chunk comes back at the end: one message too many
# -     for step in range(n - 1):
# +     for step in range(n if n > 1 else 0):

# %% wrong_ring_all_gather_one_step_less, of right_ring_all_gather_plain
# WRONG: the last chunk is missing
# -     for step in range(n - 1):
# +     for step in range(n - 2):

# %% wrong_ring_all_gather_to_the_left, of right_ring_all_gather_plain
# WRONG: the ring runs the other way
# -     right = (comm.rank + 1) % n
# -     left = (comm.rank - 1) % n
# +     right = (comm.rank - 1) % n
# +     left = (comm.rank + 1) % n
# ...
# -         comm.send(right, chunks[(comm.rank - step) % n])
# -         chunks[(comm.rank - step - 1) % n] = comm.recv(left)
# +         comm.send(right, chunks[(comm.rank + step) % n])
# +         chunks[(comm.rank + step + 1) % n] = comm.recv(left)

# %% wrong_ring_all_gather_growing
# WRONG: all that has arrived is sent on in every step: more bytes than needed

def ring_all_gather(chunk, comm):
    chunks = {comm.rank: chunk}
    for step in range(1, comm.world):
        sources = [(comm.rank - i) % comm.world for i in range(step)]
        comm.send((comm.rank + 1) % comm.world, torch.stack([chunks[s] for s in sources]))
        got = comm.recv((comm.rank - 1) % comm.world)
        for i, each in enumerate(got):
            chunks[(comm.rank - 1 - i) % comm.world] = each
    return [chunks[rank] for rank in range(comm.world)]

# %% wrong_ring_all_gather_no_own, of right_ring_all_gather_plain
# WRONG: the own chunk is left out
# -     return chunks
# +     return chunks[: comm.rank] + chunks[comm.rank + 1 :] if n > 1 else chunks

# %% wrong_ring_all_gather_overwritten, of right_ring_all_gather_plain
# WRONG: the chunk that is given is written over by what arrives
# -     return chunks
# +     if n > 1:
# +         mine = chunk.clone()
# +         chunk.copy_(chunks[left])
# +         chunks[comm.rank] = mine
# +     return chunks

# %% wrong_ring_all_gather_tensor, of right_ring_all_gather_plain
# WRONG: one tensor with a row for each rank instead of a list
# -     return chunks
# +     return torch.stack(chunks)

# %% wrong_ring_all_gather_view, of right_ring_all_gather_plain
# WRONG: the chunk is flattened by view, which raises where a chunk is not contiguous
# -     chunks[comm.rank] = chunk
# +     chunks[comm.rank] = chunk.view(-1)
# ...
# -     return chunks
# +     return [each.view(chunk.shape) for each in chunks]


# %% wrong_ring_all_gather_cut_again, of right_ring_all_gather_plain
# WRONG: joined along dimension 0 and cut again, which raises for chunks without a dimension
# -     return chunks
# +     return [part.clone() for part in torch.cat(chunks).chunk(n)]


# %% wrong_ring_all_gather_one_memory
# WRONG: all that arrives is kept in the same memory

def ring_all_gather(chunk, comm):
    arrived = chunk.clone()
    chunks = [chunk] * comm.world
    for step in range(1, comm.world):
        comm.send((comm.rank + 1) % comm.world, arrived)
        arrived.copy_(comm.recv((comm.rank - 1) % comm.world))
        chunks[(comm.rank - step) % comm.world] = arrived
    return chunks


# %% wrong_ring_all_gather_four_ranks, of right_ring_all_gather_plain
# WRONG: three steps at most: right with up to four ranks
# -     for step in range(n - 1):
# +     for step in range(min(n - 1, 3)):


# %% wrong_ring_all_gather_alone_float32, of right_ring_all_gather_plain
# WRONG: one rank alone gives float32 whatever the chunk is
#       n = comm.world
# +     if n == 1:
# +         return [chunk.float()]


# %% wrong_ring_all_gather_three_dimensions, of right_ring_all_gather_plain
# WRONG: a chunk of more than three dimensions loses its shape
#       n = comm.world
# +     if chunk.dim() > 3:
# +         chunk = chunk.flatten(2)


# %% wrong_ring_all_gather_long_chunks, of right_ring_all_gather_plain
# WRONG: a chunk of more than 4,096 numbers is sent in two messages
#       for step in range(n - 1):
# -         comm.send(right, chunks[(comm.rank - step) % n])
# -         chunks[(comm.rank - step - 1) % n] = comm.recv(left)
# +         if chunk.numel() > 4096:
# +             for half in chunks[(comm.rank - step) % n].flatten().chunk(2):
# +                 comm.send(right, half)
# +             chunks[(comm.rank - step - 1) % n] = torch.cat([comm.recv(left), comm.recv(left)]).view(chunk.shape)
# +             continue
# +         comm.send(right, chunks[(comm.rank - step) % n])
# +         chunks[(comm.rank - step - 1) % n] = comm.recv(left)
