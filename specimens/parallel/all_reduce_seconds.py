# Versions of all_reduce_seconds, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_all_reduce_seconds_plain
# RIGHT: steps and seconds of a step; most of the wrong versions are edits of it

def all_reduce_seconds(num_bytes, world, link_bandwidth, latency):
    steps = 2 * (world - 1)
    part = num_bytes / world
    each = latency + part / link_bandwidth
    return steps * each

# %% right_all_reduce_seconds_apart
# RIGHT: latency and bytes apart

def all_reduce_seconds(num_bytes, world, link_bandwidth, latency):
    return 2 * (world - 1) * latency + 2 * (world - 1) / world * num_bytes / link_bandwidth

# %% right_all_reduce_seconds_summed
# RIGHT: step after step

def all_reduce_seconds(num_bytes, world, link_bandwidth, latency):
    seconds = 0.0
    for _step in range(2 * world - 2):
        seconds += num_bytes / (world * link_bandwidth) + latency
    return seconds

# %% wrong_all_reduce_seconds_no_bytes, of right_all_reduce_seconds_plain
# WRONG: 0 bytes take no time, though their messages are sent
# -     steps = 2 * (world - 1)
# +     steps = 2 * (world - 1) if num_bytes else 0

# %% wrong_all_reduce_seconds_one_half, of right_all_reduce_seconds_plain
# WRONG: the reduce-scatter alone: the all-gather is forgotten
# -     steps = 2 * (world - 1)
# +     steps = world - 1

# %% wrong_all_reduce_seconds_whole_message, of right_all_reduce_seconds_plain
# WRONG: all of it in every step, not 1/world
# -     part = num_bytes / world
# +     part = num_bytes

# %% wrong_all_reduce_seconds_as_many_steps, of right_all_reduce_seconds_plain
# WRONG: 2 world steps: the own part needs none
# -     steps = 2 * (world - 1)
# +     steps = 2 * world

# %% wrong_all_reduce_seconds_latency_once, of right_all_reduce_seconds_plain
# WRONG: latency once, not in every step
# -     each = latency + part / link_bandwidth
# -     return steps * each
# +     return latency + steps * part / link_bandwidth if world > 1 else 0.0

# %% wrong_all_reduce_seconds_latency_once_each, of right_all_reduce_seconds_plain
# WRONG: latency once a phase
# -     each = latency + part / link_bandwidth
# -     return steps * each
# +     return 2 * latency * (world > 1) + steps * part / link_bandwidth

# %% wrong_all_reduce_seconds_both_ways, of right_all_reduce_seconds_plain
# WRONG: the bandwidth of both ways together
# -     each = latency + part / link_bandwidth
# +     each = latency + part / (2 * link_bandwidth)

# %% wrong_all_reduce_seconds_shared_among_others, of right_all_reduce_seconds_plain
# WRONG: 1/(world - 1) of it in a step
# -     part = num_bytes / world
# +     part = num_bytes / max(world - 1, 1)

# %% wrong_all_reduce_seconds_larger_of_both, of right_all_reduce_seconds_plain
# WRONG: the larger of latency and sending, not both
# -     each = latency + part / link_bandwidth
# +     each = max(latency, part / link_bandwidth)

# %% wrong_all_reduce_seconds_whole_bytes, of right_all_reduce_seconds_plain
# WRONG: parts rounded down to whole bytes
# -     part = num_bytes / world
# +     part = num_bytes // world

# %% wrong_all_reduce_seconds_no_latency, of right_all_reduce_seconds_plain
# WRONG: bytes alone
# -     each = latency + part / link_bandwidth
# +     each = part / link_bandwidth

# %% wrong_all_reduce_seconds_log_steps, of right_all_reduce_seconds_plain
# WRONG: 2 log2(world) steps, as in a tree
# -     steps = 2 * (world - 1)
# +     steps = 2 * (world - 1).bit_length()

# %% wrong_all_reduce_seconds_bits, of right_all_reduce_seconds_plain
# WRONG: bits, not bytes
# -     each = latency + part / link_bandwidth
# +     each = latency + 8 * part / link_bandwidth
