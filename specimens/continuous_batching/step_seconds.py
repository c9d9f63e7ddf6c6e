# Versions of step_seconds, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_seconds_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def step_seconds(chunks, *, weight_seconds, token_seconds, kv_seconds):
    fed = sum(n for n, _ in chunks)
    cached = sum(length for _, length in chunks)
    reading = weight_seconds + cached * kv_seconds
    multiplying = fed * token_seconds
    return max(reading, multiplying)


# %% right_seconds_in_one_loop
# RIGHT: both times grow request by request

def step_seconds(chunks, *, weight_seconds, token_seconds, kv_seconds):
    reading, multiplying = weight_seconds, 0.0
    for n, length in chunks:
        reading += kv_seconds * length
        multiplying += token_seconds * n
    return reading if reading > multiplying else multiplying


# %% right_seconds_tensor
# RIGHT: as sums of a tensor

def step_seconds(chunks, *, weight_seconds, token_seconds, kv_seconds):
    fed, cached = torch.tensor(chunks or [(0, 0)], dtype=torch.float64).sum(dim=0).tolist()
    return max(fed * token_seconds, cached * kv_seconds + weight_seconds)


# %% wrong_seconds_sum, of right_seconds_plain
# WRONG: reading and multiplying are added
# -     return max(reading, multiplying)
# +     return reading + multiplying

# %% wrong_seconds_weights_each_time, of right_seconds_plain
# WRONG: the weights are read once a request
# -     reading = weight_seconds + cached * kv_seconds
# +     reading = len(chunks) * weight_seconds + cached * kv_seconds

# %% wrong_seconds_no_cache, of right_seconds_plain
# WRONG: the keys and values are not read
# -     reading = weight_seconds + cached * kv_seconds
# +     reading = weight_seconds

# %% wrong_seconds_cache_apart, of right_seconds_plain
# WRONG: the cache is read after the products
# -     return max(reading, multiplying)
# +     return max(weight_seconds, multiplying) + cached * kv_seconds

# %% wrong_seconds_shorter, of right_seconds_plain
# WRONG: the shorter of both times
# -     return max(reading, multiplying)
# +     return min(reading, multiplying)

# %% wrong_seconds_requests_for_tokens, of right_seconds_plain
# WRONG: a chunk is counted as one token
# -     fed = sum(n for n, _ in chunks)
# +     fed = len(chunks)

# %% wrong_seconds_longest_cache, of right_seconds_plain
# WRONG: only the longest text is read
# -     cached = sum(length for _, length in chunks)
# +     cached = max((length for _, length in chunks), default=0)

# %% wrong_seconds_cache_before, of right_seconds_plain
# WRONG: the tokens of the step itself are not read
# -     cached = sum(length for _, length in chunks)
# +     cached = sum(length - n for n, length in chunks)

# %% wrong_seconds_chunk_by_chunk, of right_seconds_plain
# WRONG: each request has a step of its own
# -     return max(reading, multiplying)
# +     return sum(max(weight_seconds + length * kv_seconds, n * token_seconds) for n, length in chunks)

# %% wrong_seconds_equal_ones_once, of right_seconds_plain
# WRONG: two requests with the same numbers are counted as one
# -     fed = sum(n for n, _ in chunks)
# +     chunks = set(chunks)
# +     fed = sum(n for n, _ in chunks)


# %% wrong_seconds_sixteen, of right_seconds_plain
# WRONG: the first sixteen requests are counted
# -     fed = sum(n for n, _ in chunks)
# -     cached = sum(length for _, length in chunks)
# +     fed = sum(n for n, _ in chunks[:16])
# +     cached = sum(length for _, length in chunks[:16])
