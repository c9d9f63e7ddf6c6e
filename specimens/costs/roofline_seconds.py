# Versions of roofline_seconds, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_roofline_if
# RIGHT: by the balance of the machine
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    if flops / num_bytes > peak_flops / bandwidth:
        return flops / peak_flops
    return num_bytes / bandwidth


# %% right_roofline_sorted
# RIGHT: the last of two, sorted
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return sorted([num_bytes / bandwidth, flops / peak_flops])[-1]


# %% right_roofline_tensor
# RIGHT: torch's maximum
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return torch.tensor([flops / peak_flops, num_bytes / bandwidth], dtype=torch.float64).max().item()


# %% wrong_roofline_arithmetic_only
# WRONG: arithmetic only
# SAYS: This is the time of the arithmetic alone. Where the bytes take longer, they decide.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return flops / peak_flops


# %% wrong_roofline_at_least_a_microsecond
# WRONG: no work takes less than a microsecond
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return max(flops / peak_flops, num_bytes / bandwidth, 1e-6)


# %% wrong_roofline_attainable_at_nothing
# WRONG: FLOPs over the attainable rate: divides by 0 where there is nothing to calculate
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return flops / min(peak_flops, flops / num_bytes * bandwidth)


# %% wrong_roofline_inverted
# WRONG: rates over work
# SAYS: A rate is divided by the work. Time is work over rate.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return max(peak_flops / flops, bandwidth / num_bytes)


# %% wrong_roofline_mean
# WRONG: the mean
# SAYS: This is the mean of the two times. The longer one decides.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return (flops / peak_flops + num_bytes / bandwidth) / 2


# %% wrong_roofline_memory_only
# WRONG: memory only
# SAYS: This is the time of the bytes alone. Where the arithmetic takes longer, it decides.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return num_bytes / bandwidth


# %% wrong_roofline_milliseconds
# WRONG: milliseconds
# SAYS: This is in milliseconds. The function gives seconds.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return 1000 * max(flops / peak_flops, num_bytes / bandwidth)


# %% wrong_roofline_min
# WRONG: min instead of max
# SAYS: This is the shorter of the two times. The work is done when both are.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return min(flops / peak_flops, num_bytes / bandwidth)


# %% wrong_roofline_nothing_to_calculate
# WRONG: no time at all where there is nothing to calculate, though bytes are moved
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    if not flops:
        return 0.0
    return max(flops / peak_flops, num_bytes / bandwidth)


# %% wrong_roofline_rate
# WRONG: the attainable rate instead of the time
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return min(peak_flops, flops / num_bytes * bandwidth)


# %% wrong_roofline_rates_exchanged
# WRONG: peak and bandwidth exchanged
# SAYS: peak_flops and bandwidth are exchanged.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return max(flops / bandwidth, num_bytes / peak_flops)


# %% wrong_roofline_ridge_sum
# WRONG: near the balance the two times are added
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    arithmetic, memory = flops / peak_flops, num_bytes / bandwidth
    if abs(arithmetic - memory) < 1e-3 * memory:
        return arithmetic + memory
    return max(arithmetic, memory)


# %% wrong_roofline_root
# WRONG: the root of the sum of squares
# SAYS: This is the root of the sum of squares of the two times. The longer one decides.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return ((flops / peak_flops) ** 2 + (num_bytes / bandwidth) ** 2) ** 0.5


# %% wrong_roofline_seconds_rounded
# WRONG: rounded to microseconds
# SAYS: The time is rounded to microseconds. Round nothing: a few kilobytes take nanoseconds.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return round(max(flops / peak_flops, num_bytes / bandwidth), 6)


# %% wrong_roofline_seconds_whole_balance
# WRONG: balance by whole division: wrong just around it
# SAYS: The machine's balance is rounded down, so work just above it is put on the wrong side.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return flops / peak_flops if flops // num_bytes > peak_flops // bandwidth else num_bytes / bandwidth


# %% wrong_roofline_sum
# WRONG: the sum of both
# SAYS: This is the sum of the two times. They pass side by side: the longer one decides.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return flops / peak_flops + num_bytes / bandwidth

# %% wrong_roofline_balance_inverted, of right_roofline_if
# WRONG: the comparison with the balance the wrong way round
# -     if flops / num_bytes > peak_flops / bandwidth:
# +     if flops / num_bytes < peak_flops / bandwidth:
