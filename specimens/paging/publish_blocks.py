# Versions of publish_blocks, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_publish_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def publish_blocks(sequence, tokens, salt=b""):
    stored = tokens[: sequence.length]
    keys = block_keys(stored, sequence.block_size, salt)
    for place, key in enumerate(keys):
        sequence.pool.publish(sequence.blocks[place], key)


# %% right_publish_backwards
# RIGHT: the last block first

def publish_blocks(sequence, tokens, salt=b""):
    keys = block_keys(tokens, sequence.block_size, salt)[: sequence.length // sequence.block_size]
    for place in range(len(keys) - 1, -1, -1):
        sequence.pool.publish(sequence.blocks[place], keys[place])


# %% right_publish_what_is_new
# RIGHT: what is known already is left out

def publish_blocks(sequence, tokens, salt=b""):
    num_whole = min(len(tokens), sequence.length) // sequence.block_size
    keys = block_keys(tokens, sequence.block_size, salt)[:num_whole]
    known = len(sequence.pool.find(keys))
    for block, key in list(zip(sequence.blocks, keys))[known:]:
        sequence.pool.publish(block, key)


# %% wrong_publish_tokens_not_stored, of right_publish_plain
# WRONG: blocks are published whose tokens are not stored yet
# -     stored = tokens[: sequence.length]
# -     keys = block_keys(stored, sequence.block_size, salt)
# -     for place, key in enumerate(keys):
# -         sequence.pool.publish(sequence.blocks[place], key)
# +     keys = block_keys(tokens, sequence.block_size, salt)
# +     for block, key in zip(sequence.blocks, keys):
# +         sequence.pool.publish(block, key)

# %% wrong_publish_without_salt, of right_publish_plain
# WRONG: the salt is not passed on
# -     keys = block_keys(stored, sequence.block_size, salt)
# +     keys = block_keys(stored, sequence.block_size)

# %% wrong_publish_first_block_only, of right_publish_plain
# WRONG: only the first block is published
# -     for place, key in enumerate(keys):
# +     for place, key in enumerate(keys[:1]):

# %% wrong_publish_last_block_only, of right_publish_plain
# WRONG: only the last whole block is published
# -     for place, key in enumerate(keys):
# -         sequence.pool.publish(sequence.blocks[place], key)
# +     if keys:
# +         sequence.pool.publish(sequence.blocks[len(keys) - 1], keys[-1])

# %% wrong_publish_last_token_left_out, of right_publish_plain
# WRONG: the last stored token is left out, so that a text of whole blocks loses one
# -     stored = tokens[: sequence.length]
# +     stored = tokens[: sequence.length - 1]

# %% wrong_publish_in_the_other_order, of right_publish_plain
# WRONG: the first key goes to the last block
# -         sequence.pool.publish(sequence.blocks[place], key)
# +         sequence.pool.publish(sequence.blocks[len(keys) - 1 - place], key)

# %% wrong_publish_whole_text_as_one, of right_publish_plain
# WRONG: every block gets the key of the whole text
# -         sequence.pool.publish(sequence.blocks[place], key)
# +         sequence.pool.publish(sequence.blocks[place], keys[-1])

# %% wrong_publish_blocks_of_their_own, of right_publish_plain
# WRONG: each block gets the key of its own tokens, as if nothing came before it
# -         sequence.pool.publish(sequence.blocks[place], key)
# +         own = stored[place * sequence.block_size : (place + 1) * sequence.block_size]
# +         sequence.pool.publish(sequence.blocks[place], block_keys(own, sequence.block_size, salt)[0])

# %% wrong_publish_nothing, of right_publish_plain
# WRONG: nothing is published
# -         sequence.pool.publish(sequence.blocks[place], key)
# +         pass

# %% wrong_publish_own_blocks_only, of right_publish_plain
# WRONG: blocks that others hold too are left out
# -         sequence.pool.publish(sequence.blocks[place], key)
# +         if sequence.pool.holders(sequence.blocks[place]) == 1:
# +             sequence.pool.publish(sequence.blocks[place], key)

# %% wrong_publish_part_full_blocks, of right_publish_plain
# WRONG: a part-full last block gets a key of its own
# -     keys = block_keys(stored, sequence.block_size, salt)
# +     keys = block_keys(stored, sequence.block_size, salt)
# +     if len(keys) < len(sequence.blocks):
# +         rest = stored[len(keys) * sequence.block_size :]
# +         keys += block_keys(rest, len(rest), b"".join(keys[-1:]))

# %% wrong_publish_one_token_ahead, of right_publish_plain
# WRONG: the token to be fed next is counted as stored: a block that lacks one token is named
# -     stored = tokens[: sequence.length]
# +     stored = tokens[: sequence.length + 1]


# %% wrong_publish_64_blocks, of right_publish_plain
# WRONG: 64 blocks of a text are published at most
# -     for place, key in enumerate(keys):
# +     for place, key in enumerate(keys[:64]):


# %% wrong_publish_salt_cut, of right_publish_plain
# WRONG: only the first 16 bytes of the salt are passed on
# -     keys = block_keys(stored, sequence.block_size, salt)
# +     keys = block_keys(stored, sequence.block_size, salt[:16])


# %% wrong_publish_counts_what_it_published, of right_publish_plain
# WRONG: the sequence notes how many blocks it has published, and keeps the number after a cut
# -     for place, key in enumerate(keys):
# -         sequence.pool.publish(sequence.blocks[place], key)
# +     published, sequence.published = getattr(sequence, "published", 0), len(keys)
# +     for place in range(published, len(keys)):
# +         sequence.pool.publish(sequence.blocks[place], keys[place])


# %% wrong_publish_no_block_zero, of right_publish_plain
# WRONG: block number 0 counts as no block and is never published
# -         sequence.pool.publish(sequence.blocks[place], key)
# +         if sequence.blocks[place]:
# +             sequence.pool.publish(sequence.blocks[place], key)
