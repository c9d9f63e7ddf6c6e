# Versions of kv_heads_of, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_kv_heads_plain
# RIGHT: two cases; most of the wrong versions are edits of it

def kv_heads_of(config, rank, world):
    H = config.num_attention_heads
    K = config.num_key_value_heads
    if H % world != 0:
        raise ValueError(f"{H} query heads among {world} ranks")
    if K % world != 0 and world % K != 0:
        raise ValueError(f"{K} key/value heads among {world} ranks")
    if world <= K:
        each = K // world
        return range(rank * each, (rank + 1) * each)
    copies = world // K
    head = rank // copies
    return range(head, head + 1)

# %% right_kv_heads_of_queries
# RIGHT: from the query heads of the rank

def kv_heads_of(config, rank, world):
    H, K = config.num_attention_heads, config.num_key_value_heads
    if H % world or (K % world and world % K):
        raise ValueError(f"H = {H} and K = {K} do not fit {world} ranks")
    each, group = H // world, H // K
    first, last = rank * each, (rank + 1) * each - 1
    return range(first // group, last // group + 1)

# %% right_kv_heads_ceiling
# RIGHT: start and stop, rounded down and up

def kv_heads_of(config, rank, world):
    H, K = config.num_attention_heads, config.num_key_value_heads
    if max(K, world) % min(K, world) or H % world:
        raise ValueError(f"{K} key/value heads and {H} query heads do not fit {world} ranks")
    return range(rank * K // world, -(-(rank + 1) * K // world))

# %% wrong_kv_heads_modulo, of right_kv_heads_plain
# WRONG: heads are dealt out in turn: 0, 1, 0, 1
# -     head = rank // copies
# +     head = rank % K

# %% wrong_kv_heads_none_left, of right_kv_heads_plain
# WRONG: more ranks than heads have none
# -     if world <= K:
# -         each = K // world
# -         return range(rank * each, (rank + 1) * each)
# -     copies = world // K
# -     head = rank // copies
# -     return range(head, head + 1)
# +     each = K // world
# +     return range(rank * each, (rank + 1) * each)

# %% wrong_kv_heads_all, of right_kv_heads_plain
# WRONG: every rank has all heads
# -         return range(rank * each, (rank + 1) * each)
# +         return range(K)

# %% wrong_kv_heads_query_heads, of right_kv_heads_plain
# WRONG: as many as query heads: H / world
# -         each = K // world
# +         each = H // world

# %% wrong_kv_heads_no_query_check, of right_kv_heads_plain
# WRONG: query heads that do not divide are not refused
# -     if H % world != 0:
# -         raise ValueError(f"{H} query heads among {world} ranks")

# %% wrong_kv_heads_no_kv_check, of right_kv_heads_plain
# WRONG: key/value heads that neither divide nor are divided are not refused
# -     if K % world != 0 and world % K != 0:
# -         raise ValueError(f"{K} key/value heads among {world} ranks")

# %% wrong_kv_heads_checked_below_only, of right_kv_heads_plain
# WRONG: more ranks than key/value heads are not refused where K does not divide world: the last ranks have heads that the model has not
# -     if K % world != 0 and world % K != 0:
# +     if world < K and K % world != 0:

# %% wrong_kv_heads_no_copies, of right_kv_heads_plain
# WRONG: more ranks than key/value heads are refused
# -     if K % world != 0 and world % K != 0:
# +     if K % world != 0:

# %% wrong_kv_heads_only_more, of right_kv_heads_plain
# WRONG: refused unless K divides world: fewer ranks than heads too
# -     if K % world != 0 and world % K != 0:
# +     if world % K != 0:

# %% wrong_kv_heads_list, of right_kv_heads_plain
# WRONG: a list instead of a range
# -         return range(rank * each, (rank + 1) * each)
# +         return list(range(rank * each, (rank + 1) * each))

# %% wrong_kv_heads_number, of right_kv_heads_plain
# WRONG: the number of heads, and not which
# -         return range(rank * each, (rank + 1) * each)
# +         return range(each)
# ...
# -     return range(head, head + 1)
# +     return range(1)

# %% wrong_kv_heads_key_error, of right_kv_heads_plain
# WRONG: KeyError instead of ValueError
# -         raise ValueError(f"{H} query heads among {world} ranks")
# +         raise KeyError(f"{H} query heads among {world} ranks")

# %% wrong_kv_heads_unnamed, of right_kv_heads_plain
# WRONG: the message does not name the heads
# -         raise ValueError(f"{K} key/value heads among {world} ranks")
# +         raise ValueError(f"key/value heads among {world} ranks")

# %% wrong_kv_heads_group, of right_kv_heads_plain
# WRONG: head rank // (H / K), as if each rank had one query head
# -     head = rank // copies
# +     head = rank // (H // K)

# %% wrong_kv_heads_inclusive, of right_kv_heads_plain
# WRONG: one head too many: the end of a range is not in it
# -         return range(rank * each, (rank + 1) * each)
# +         return range(rank * each, (rank + 1) * each + 1)

# %% wrong_kv_heads_shifted_copies, of right_kv_heads_plain
# WRONG: copies begin one rank too late
# -     head = rank // copies
# +     head = (rank - 1) // copies if rank else 0

# %% wrong_kv_heads_dealt_out, of right_kv_heads_plain
# WRONG: heads are dealt out in turn: rank 0 has heads 0, 2, 4
# -         return range(rank * each, (rank + 1) * each)
# +         return range(rank, K, world)


# %% wrong_kv_heads_sixteen_ranks, of right_kv_heads_plain
# WRONG: ranks are counted modulo 16
#       H = config.num_attention_heads
# +     rank = rank % 16


# %% wrong_kv_heads_many_heads_refused, of right_kv_heads_plain
# WRONG: more than 64 query heads are refused
# -     if H % world != 0:
# +     if H % world != 0 or H > 64:
