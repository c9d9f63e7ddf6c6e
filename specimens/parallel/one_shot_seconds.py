# Versions of one_shot_seconds, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_one_shot_seconds_plain
# RIGHT: one rank apart; most of the wrong versions are edits of it

def one_shot_seconds(num_bytes, world, link_bandwidth, latency):
    if world == 1:
        return 0.0
    others = world - 1
    sending = others * num_bytes / link_bandwidth
    return latency + sending

# %% right_one_shot_seconds_last_message
# RIGHT: the arrival of the last message

def one_shot_seconds(num_bytes, world, link_bandwidth, latency):
    arrivals = [(place + 1) * (num_bytes / link_bandwidth) + latency for place in range(world - 1)]
    return max(arrivals, default=0.0)

# %% right_one_shot_seconds_times
# RIGHT: latency times whether anybody is there

def one_shot_seconds(num_bytes, world, link_bandwidth, latency):
    return (world > 1) * latency + num_bytes * (world - 1) / link_bandwidth

# %% wrong_one_shot_seconds_alone, of right_one_shot_seconds_plain
# WRONG: one rank alone waits for a message of its own
# -     if world == 1:
# -         return 0.0

# %% wrong_one_shot_seconds_latency_each, of right_one_shot_seconds_plain
# WRONG: latency of every message, not of the last alone
# -     return latency + sending
# +     return others * latency + sending

# %% wrong_one_shot_seconds_one_message, of right_one_shot_seconds_plain
# WRONG: one message, as if the link carried all at once
# -     sending = others * num_bytes / link_bandwidth
# +     sending = num_bytes / link_bandwidth

# %% wrong_one_shot_seconds_itself_too, of right_one_shot_seconds_plain
# WRONG: it sends to itself too
# -     others = world - 1
# +     others = world

# %% wrong_one_shot_seconds_parts, of right_one_shot_seconds_plain
# WRONG: 1/world of it to each
# -     sending = others * num_bytes / link_bandwidth
# +     sending = others * num_bytes / world / link_bandwidth

# %% wrong_one_shot_seconds_twice, of right_one_shot_seconds_plain
# WRONG: twice, as a ring's two phases
# -     return latency + sending
# +     return 2 * (latency + sending)

# %% wrong_one_shot_seconds_two_latencies, of right_one_shot_seconds_plain
# WRONG: there and back: two latencies
# -     return latency + sending
# +     return 2 * latency + sending

# %% wrong_one_shot_seconds_no_latency, of right_one_shot_seconds_plain
# WRONG: bytes alone
# -     return latency + sending
# +     return sending

# %% wrong_one_shot_seconds_both_ways, of right_one_shot_seconds_plain
# WRONG: the bandwidth of both ways together
# -     sending = others * num_bytes / link_bandwidth
# +     sending = others * num_bytes / (2 * link_bandwidth)

# %% wrong_one_shot_seconds_pairs, of right_one_shot_seconds_plain
# WRONG: all pairs share one link
# -     others = world - 1
# +     others = world * (world - 1)

# %% wrong_one_shot_seconds_larger_of_both, of right_one_shot_seconds_plain
# WRONG: the larger of latency and sending, not both
# -     return latency + sending
# +     return max(latency, sending)

# %% wrong_one_shot_seconds_half, of right_one_shot_seconds_plain
# WRONG: half of the pairs, as each need be sent one way only
# -     sending = others * num_bytes / link_bandwidth
# +     sending = others * num_bytes / 2 / link_bandwidth
