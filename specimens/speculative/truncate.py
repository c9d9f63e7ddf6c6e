# Versions of truncate, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_truncate_plain
# RIGHT: a new list of counts; most of the wrong versions are edits of it

def truncate(cache, length):
    if length < 0 or length > cache.length:
        raise ValueError(f"length {length} is not from 0 to {cache.length}")
    cache.counts = [length] * len(cache.counts)


# %% right_truncate_layer_by_layer
# RIGHT: each layer's count in place

def truncate(cache, length):
    if not 0 <= length <= cache.length:
        raise ValueError(f"{length} tokens cannot be kept of {cache.length}")
    for layer in range(len(cache.counts)):
        cache.counts[layer] = length


# %% right_truncate_by_range
# RIGHT: asks a range whether the length is in it

def truncate(cache, length):
    allowed = range(cache.length + 1)
    if length not in allowed:
        raise ValueError(f"got {length}, which is not in {allowed}")
    cache.counts[:] = (length for _ in cache.counts)


# %% wrong_truncate_first_layer, of right_truncate_plain
# WRONG: only the first layer is cut
# -     cache.counts = [length] * len(cache.counts)
# +     cache.counts[0] = length

# %% wrong_truncate_last_layer, of right_truncate_plain
# WRONG: only the last layer is cut
# -     cache.counts = [length] * len(cache.counts)
# +     cache.counts[-1] = length

# %% wrong_truncate_one_short, of right_truncate_plain
# WRONG: one token too many is forgotten
# -     cache.counts = [length] * len(cache.counts)
# +     cache.counts = [max(length - 1, 0)] * len(cache.counts)

# %% wrong_truncate_one_long, of right_truncate_plain
# WRONG: one token too few is forgotten
# -     cache.counts = [length] * len(cache.counts)
# +     cache.counts = [min(length + 1, cache.length)] * len(cache.counts)

# %% wrong_truncate_so_many_less, of right_truncate_plain
# WRONG: so many tokens are forgotten, not kept
# -     cache.counts = [length] * len(cache.counts)
# +     cache.counts = [cache.length - length] * len(cache.counts)

# %% wrong_truncate_does_nothing, of right_truncate_plain
# WRONG: forgets nothing
# -     cache.counts = [length] * len(cache.counts)

# %% wrong_truncate_to_nothing, of right_truncate_plain
# WRONG: forgets everything
# -     cache.counts = [length] * len(cache.counts)
# +     cache.reset()

# %% wrong_truncate_zeroes, of right_truncate_plain
# WRONG: overwrites what it forgets with zeros
# -     cache.counts = [length] * len(cache.counts)
# +     cache.counts = [length] * len(cache.counts)
# +     cache.keys[:, :, :, length:] = 0
# +     cache.values[:, :, :, length:] = 0

# %% wrong_truncate_copies, of right_truncate_plain
# WRONG: copies what it keeps
# -     cache.counts = [length] * len(cache.counts)
# +     cache.counts = [length] * len(cache.counts)
# +     cache.keys = cache.keys.clone()
# +     cache.values = cache.values.clone()

# %% wrong_truncate_shrinks, of right_truncate_plain
# WRONG: the memory is cut too: nothing can be appended any more
# -     cache.counts = [length] * len(cache.counts)
# +     cache.counts = [length] * len(cache.counts)
# +     cache.keys, cache.values, cache.max_len = cache.keys[:, :, :, :length], cache.values[:, :, :, :length], length

# %% wrong_truncate_negative, of right_truncate_plain
# WRONG: a negative length is not refused
# -     if length < 0 or length > cache.length:
# +     if length > cache.length:

# %% wrong_truncate_grows, of right_truncate_plain
# WRONG: a length above the cache's is not refused
# -     if length < 0 or length > cache.length:
# +     if length < 0:

# %% wrong_truncate_up_to_its_room, of right_truncate_plain
# WRONG: any length that the memory has room for is taken
# -     if length < 0 or length > cache.length:
# +     if length < 0 or length > cache.max_len:

# %% wrong_truncate_same_length_refused, of right_truncate_plain
# WRONG: the length that it has is refused
# -     if length < 0 or length > cache.length:
# +     if length < 0 or length >= cache.length:

# %% wrong_truncate_in_silence, of right_truncate_plain
# WRONG: what cannot be is passed over without an error
# -         raise ValueError(f"length {length} is not from 0 to {cache.length}")
# +         return

# %% wrong_truncate_cuts_first
# WRONG: cuts before it refuses
def truncate(cache, length):
    before = cache.length
    cache.counts = [length] * len(cache.counts)
    if not 0 <= length <= before:
        raise ValueError(f"length {length}")


# %% wrong_truncate_longest_layer
# WRONG: any length up to that of the longest layer is taken
def truncate(cache: KVCache, length: int) -> None:
    if not 0 <= length <= max(cache.counts):
        raise ValueError(f"length must be from 0 to the cache's {cache.length}, got {length}")
    cache.counts = [length] * len(cache.counts)


# %% wrong_truncate_by_as_many
# WRONG: every layer goes back by as many tokens, and not to the same length
def truncate(cache: KVCache, length: int) -> None:
    if not 0 <= length <= cache.length:
        raise ValueError(f"length must be from 0 to the cache's {cache.length}, got {length}")
    cache.counts = [count - (cache.length - length) for count in list(cache.counts)]


# %% wrong_truncate_shared_counts
# WRONG: all caches that were cut share their counts
_counts = []

def truncate(cache, length):
    if not 0 <= length <= cache.length:
        raise ValueError(f"length {length}")
    _counts[:] = [length] * len(cache.counts)
    cache.counts = _counts


# %% wrong_truncate_32_layers, of right_truncate_plain
# WRONG: the first 32 layers are cut
# -     cache.counts = [length] * len(cache.counts)
# +     cache.counts = [length] * len(cache.counts[:32]) + cache.counts[32:]
