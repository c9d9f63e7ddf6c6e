# Versions of start_sequence, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_start_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def start_sequence(pool, tokens, block_size, salt=b""):
    sequence = PagedSequence(pool, block_size)
    keys = block_keys(tokens[:-1], block_size, salt)
    sequence.blocks = pool.adopt(keys)
    sequence.length = len(sequence.blocks) * block_size
    return sequence


# %% right_start_leaves_out_a_key
# RIGHT: all keys, of which the last is left out where it ends with the text

def start_sequence(pool, tokens, block_size, salt=b""):
    keys = block_keys(tokens, block_size, salt)
    if keys and len(keys) * block_size == len(tokens):
        keys.pop()
    sequence = PagedSequence(pool, block_size)
    for block in pool.adopt(keys):
        sequence.blocks.append(block)
        sequence.length += block_size
    return sequence


# %% right_start_key_by_key
# RIGHT: the known beginning is found first, then adopted

def start_sequence(pool, tokens, block_size, salt=b""):
    most = max(0, (len(tokens) - 1) // block_size)
    keys = block_keys(tokens, block_size, salt)[:most]
    known = len(pool.find(keys))
    sequence = PagedSequence(pool, block_size)
    sequence.blocks += pool.adopt(keys[:known])
    sequence.length = known * block_size
    return sequence


# %% wrong_start_whole_prompt, of right_start_plain
# WRONG: the whole prompt can be taken over, so that nothing is left to compute
# -     keys = block_keys(tokens[:-1], block_size, salt)
# +     keys = block_keys(tokens, block_size, salt)

# %% wrong_start_without_salt, of right_start_plain
# WRONG: the salt is not passed on
# -     keys = block_keys(tokens[:-1], block_size, salt)
# +     keys = block_keys(tokens[:-1], block_size)

# %% wrong_start_finds_only, of right_start_plain
# WRONG: blocks are found and not adopted: nobody counts the new holder
# -     sequence.blocks = pool.adopt(keys)
# +     sequence.blocks = pool.find(keys)

# %% wrong_start_length_stays, of right_start_plain
# WRONG: the length stays 0
# -     sequence.length = len(sequence.blocks) * block_size

# %% wrong_start_length_of_the_prompt, of right_start_plain
# WRONG: the length is that of the whole prompt
# -     sequence.length = len(sequence.blocks) * block_size
# +     sequence.length = len(tokens)

# %% wrong_start_length_in_blocks, of right_start_plain
# WRONG: the length is counted in blocks
# -     sequence.length = len(sequence.blocks) * block_size
# +     sequence.length = len(sequence.blocks)

# %% wrong_start_adopts_twice, of right_start_plain
# WRONG: blocks are shared once more after they were adopted
# -     sequence.length = len(sequence.blocks) * block_size
# +     for block in sequence.blocks:
# +         pool.share(block)
# +     sequence.length = len(sequence.blocks) * block_size

# %% wrong_start_first_block_only, of right_start_plain
# WRONG: only the first block is taken over
# -     sequence.blocks = pool.adopt(keys)
# +     sequence.blocks = pool.adopt(keys[:1])

# %% wrong_start_a_block_too_few, of right_start_plain
# WRONG: the last block that could be taken over is left out
# -     sequence.blocks = pool.adopt(keys)
# +     sequence.blocks = pool.adopt(keys[:-1])

# %% wrong_start_all_or_nothing, of right_start_plain
# WRONG: nothing is taken over where not all of it is known
# -     sequence.blocks = pool.adopt(keys)
# +     sequence.blocks = pool.adopt(keys) if len(pool.find(keys)) == len(keys) else []

# %% wrong_start_pops_the_last_token, of right_start_plain
# WRONG: the last token is taken off the list that was given
# -     keys = block_keys(tokens[:-1], block_size, salt)
# +     tokens.pop()
# +     keys = block_keys(tokens, block_size, salt)


# %% wrong_start_64_blocks, of right_start_plain
# WRONG: 64 blocks are taken over at most
# -     sequence.blocks = pool.adopt(keys)
# +     sequence.blocks = pool.adopt(keys[:64])


# %% wrong_start_salt_cut, of right_start_plain
# WRONG: only the first 16 bytes of the salt are passed on
# -     keys = block_keys(tokens[:-1], block_size, salt)
# +     keys = block_keys(tokens[:-1], block_size, salt[:16])


# %% wrong_start_over_a_gap, of right_start_plain
# WRONG: each known block is taken over, also those after an unknown one
# -     sequence.blocks = pool.adopt(keys)
# +     for key in keys:
# +         sequence.blocks += pool.adopt([key])
