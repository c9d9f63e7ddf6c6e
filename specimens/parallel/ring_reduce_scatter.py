# Versions of ring_reduce_scatter, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_ring_reduce_scatter_plain
# RIGHT: own copies of the parts, added into; most of the wrong versions are edits of it

def ring_reduce_scatter(x, comm):
    n = comm.world
    chunks = [chunk.clone() for chunk in x.chunk(n)]
    right = (comm.rank + 1) % n
    left = (comm.rank - 1) % n
    for step in range(n - 1):
        comm.send(right, chunks[(comm.rank - step - 1) % n])
        received = comm.recv(left)
        chunks[(comm.rank - step - 2) % n] += received
    return chunks[comm.rank]

# %% right_ring_reduce_scatter_rows
# RIGHT: a matrix with a row for each rank

def ring_reduce_scatter(x, comm):
    n = comm.world
    parts = x.reshape(n, -1)
    part = parts[(comm.rank - 1) % n]
    for step in range(n - 1):
        comm.send((comm.rank + 1) % n, part)
        part = parts[(comm.rank - 2 - step) % n] + comm.recv((comm.rank - 1) % n)
    return part


# %% right_ring_reduce_scatter_by_turns
# RIGHT: even ranks send first, odd ranks receive first

def ring_reduce_scatter(x, comm):
    size = x.shape[0] // comm.world
    total = x.clone()

    def part(rank):
        rank %= comm.world
        return slice(rank * size, (rank + 1) * size)

    for step in range(1, comm.world):
        going, coming = part(comm.rank - step), part(comm.rank - step - 1)
        if comm.rank % 2 == 0:
            comm.send((comm.rank + 1) % comm.world, total[going])
            got = comm.recv((comm.rank - 1) % comm.world)
        else:
            got = comm.recv((comm.rank - 1) % comm.world)
            comm.send((comm.rank + 1) % comm.world, total[going])
        total[coming] = total[coming] + got
    return total[part(comm.rank)]

# %% wrong_ring_reduce_scatter_off_by_one, of right_ring_reduce_scatter_plain
# WRONG: the part before the one that has just been added to is sent: right with two ranks only
# -         comm.send(right, chunks[(comm.rank - step - 1) % n])
# +         comm.send(right, chunks[(comm.rank - 1) % n])

# %% wrong_ring_reduce_scatter_next_part, of right_ring_reduce_scatter_plain
# WRONG: each rank ends with the part of the next one
# -         comm.send(right, chunks[(comm.rank - step - 1) % n])
# +         comm.send(right, chunks[(comm.rank - step) % n])
# ...
# -         chunks[(comm.rank - step - 2) % n] += received
# +         chunks[(comm.rank - step - 1) % n] += received
# ...
# -     return chunks[comm.rank]
# +     return chunks[(comm.rank + 1) % n]

# %% wrong_ring_reduce_scatter_own_part_first, of right_ring_reduce_scatter_plain
# WRONG: each rank sends its own part first and returns it, though its sum ends at the left neighbour
# -         comm.send(right, chunks[(comm.rank - step - 1) % n])
# +         comm.send(right, chunks[(comm.rank - step) % n])
# ...
# -         chunks[(comm.rank - step - 2) % n] += received
# +         chunks[(comm.rank - step - 1) % n] += received

# %% wrong_ring_reduce_scatter_in_place, of right_ring_reduce_scatter_plain
# WRONG: parts that are views of x are added into: x is changed
# -     chunks = [chunk.clone() for chunk in x.chunk(n)]
# +     chunks = list(x.chunk(n))

# %% wrong_ring_reduce_scatter_received_kept, of right_ring_reduce_scatter_plain
# WRONG: what is received replaces the own part instead of being added
# -         chunks[(comm.rank - step - 2) % n] += received
# +         chunks[(comm.rank - step - 2) % n] = received

# %% wrong_ring_reduce_scatter_receive_first, of right_ring_reduce_scatter_plain
# WRONG: every rank receives before it sends: nobody begins
# -         comm.send(right, chunks[(comm.rank - step - 1) % n])
# -         received = comm.recv(left)
# +         received = comm.recv(left)
# +         comm.send(right, chunks[(comm.rank - step - 1) % n])

# %% wrong_ring_reduce_scatter_to_the_left, of right_ring_reduce_scatter_plain
# WRONG: the ring runs the other way
# -     right = (comm.rank + 1) % n
# -     left = (comm.rank - 1) % n
# +     right = (comm.rank - 1) % n
# +     left = (comm.rank + 1) % n
# ...
# -         comm.send(right, chunks[(comm.rank - step - 1) % n])
# +         comm.send(right, chunks[(comm.rank + step + 1) % n])
# ...
# -         chunks[(comm.rank - step - 2) % n] += received
# +         chunks[(comm.rank + step + 2) % n] += received

# %% wrong_ring_reduce_scatter_no_wrap, of right_ring_reduce_scatter_plain
# WRONG: the last rank has no right neighbour
# -     right = (comm.rank + 1) % n
# +     right = comm.rank + 1

# %% wrong_ring_reduce_scatter_all_steps, of right_ring_reduce_scatter_plain
# WRONG: one step too many: a part goes around whole, and is counted twice
# -     for step in range(n - 1):
# +     for step in range(n):

# %% wrong_ring_reduce_scatter_whole_x, of right_ring_reduce_scatter_plain
# WRONG: all of x is returned, with only its own part summed
# -     return chunks[comm.rank]
# +     return torch.cat(chunks)

# %% wrong_ring_reduce_scatter_all_to_all
# WRONG: each rank sends every other one its part: right sums, but not around the ring

def ring_reduce_scatter(x, comm):
    parts = x.chunk(comm.world)
    others = [rank for rank in range(comm.world) if rank != comm.rank]
    for other in others:
        comm.send(other, parts[other])
    return parts[comm.rank] + sum(comm.recv(other) for other in others) if others else parts[comm.rank]

# %% wrong_ring_reduce_scatter_whole_around
# WRONG: all of x goes around, and the part is cut from the sum: world times the bytes

def ring_reduce_scatter(x, comm):
    total, travelling = x, x
    for step in range(comm.world - 1):
        comm.send((comm.rank + 1) % comm.world, travelling)
        travelling = comm.recv((comm.rank - 1) % comm.world)
        total = total + travelling
    return total.chunk(comm.world)[comm.rank]

# %% wrong_ring_reduce_scatter_double, of right_ring_reduce_scatter_plain
# WRONG: sums are sent in float64: right, and twice the bytes of float32
# -     chunks = [chunk.clone() for chunk in x.chunk(n)]
# +     chunks = [chunk.double() for chunk in x.chunk(n)]
# ...
# -     return chunks[comm.rank]
# +     return chunks[comm.rank].to(x.dtype)

# %% wrong_ring_reduce_scatter_float_result, of right_ring_reduce_scatter_plain
# WRONG: float32 whatever the dtype was
# -     return chunks[comm.rank]
# +     return chunks[comm.rank].float()

# %% wrong_ring_reduce_scatter_mean, of right_ring_reduce_scatter_plain
# WRONG: the mean over ranks, not the sum
# -     return chunks[comm.rank]
# +     return chunks[comm.rank] / n

# %% wrong_ring_reduce_scatter_alone_sends, of right_ring_reduce_scatter_plain
# WRONG: one rank alone fails: it has no neighbour
# -     for step in range(n - 1):
# +     for step in range(max(n - 1, 1)):

# %% wrong_ring_reduce_scatter_kept, of right_ring_reduce_scatter_plain
# WRONG: parts of an earlier call of the same length are used again
# -     chunks = [chunk.clone() for chunk in x.chunk(n)]
# +     known = ring_reduce_scatter.__dict__
# +     if (len(x), x.dtype) not in known:
# +         known[len(x), x.dtype] = [chunk.clone() for chunk in x.chunk(n)]
# +     chunks = list(known[len(x), x.dtype])

# %% wrong_ring_reduce_scatter_echo, of right_ring_reduce_scatter_plain
# WRONG: a last message that nobody receives
# -     return chunks[comm.rank]
# +     if n > 1:
# +         comm.send(right, chunks[comm.rank])
# +     return chunks[comm.rank]

# %% wrong_ring_reduce_scatter_empty_messages, of right_ring_reduce_scatter_plain
# WRONG: empty messages go around behind, to no end
# -     return chunks[comm.rank]
# +     for _ in range(n - 1):
# +         comm.send(right, x[:0])
# +         comm.recv(left)
# +     return chunks[comm.rank]

# %% wrong_ring_reduce_scatter_in_bfloat16, of right_ring_reduce_scatter_plain
# WRONG: sums are sent as bfloat16
# -         comm.send(right, chunks[(comm.rank - step - 1) % n])
# +         comm.send(right, chunks[(comm.rank - step - 1) % n].bfloat16())


# %% wrong_ring_reduce_scatter_four_ranks, of right_ring_reduce_scatter_plain
# WRONG: three steps at most: right with up to four ranks
# -     for step in range(n - 1):
# +     for step in range(min(n - 1, 3)):


# %% wrong_ring_reduce_scatter_float32_sums, of right_ring_reduce_scatter_plain
# WRONG: whole numbers are added as float32, which has no whole numbers beyond 2**24 but even ones
# -         chunks[(comm.rank - step - 2) % n] += received
# +         mine = chunks[(comm.rank - step - 2) % n]
# +         wide = mine if mine.is_floating_point() else mine.float()
# +         chunks[(comm.rank - step - 2) % n] = (wide + received).to(x.dtype)


# %% wrong_ring_reduce_scatter_alone_float32, of right_ring_reduce_scatter_plain
# WRONG: one rank alone gives float32 whatever x is
#       n = comm.world
# +     if n == 1:
# +         return x.float()


# %% wrong_ring_reduce_scatter_long_x, of right_ring_reduce_scatter_plain
# WRONG: beyond 4,096 numbers all of x goes around, and the part is cut from the sum
#       n = comm.world
# +     if x.numel() > 4096:
# +         return sum(ring_all_gather(x, comm)).chunk(n)[comm.rank]
