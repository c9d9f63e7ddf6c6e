# Versions of block_keys, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_keys_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def block_keys(tokens, block_size, salt=b""):
    key = hashlib.sha256(salt).digest()
    keys = []
    for number in range(len(tokens) // block_size):
        block = tokens[number * block_size : (number + 1) * block_size]
        text = b""
        for token in block:
            text += token.to_bytes(8, "little")
        key = hashlib.sha256(key + text).digest()
        keys.append(key)
    return keys


# %% right_keys_update
# RIGHT: tokens go into the hash one after the other

def block_keys(tokens, block_size, salt=b""):
    keys, before = [], hashlib.sha256(salt).digest()
    state = hashlib.sha256(before)
    for place, token in enumerate(tokens, start=1):
        state.update(int(token).to_bytes(8, byteorder="little"))
        if place % block_size == 0:
            before = state.digest()
            keys.append(before)
            state = hashlib.sha256(before)
    return keys


# %% right_keys_of_a_tensor
# RIGHT: the bytes of an int64 tensor, on a machine whose numbers begin with the smallest byte

def block_keys(tokens, block_size, salt=b""):
    whole = torch.tensor(tokens[: len(tokens) // block_size * block_size], dtype=torch.int64)
    keys = [hashlib.sha256(salt).digest()]
    for block in whole.view(-1, block_size):
        keys.append(hashlib.sha256(keys[-1] + block.numpy().tobytes()).digest())
    return keys[1:]


# %% wrong_keys_without_the_one_before, of right_keys_plain
# WRONG: a key tells its own block only, not what came before it
# -         key = hashlib.sha256(key + text).digest()
# -         keys.append(key)
# +         keys.append(hashlib.sha256(key + text).digest())

# %% wrong_keys_of_part_full_blocks, of right_keys_plain
# WRONG: a part-full block has a key too
# -     for number in range(len(tokens) // block_size):
# +     for number in range(-(-len(tokens) // block_size)):

# %% wrong_keys_one_block_too_few, of right_keys_plain
# WRONG: a text of exactly n blocks has n - 1 keys
# -     for number in range(len(tokens) // block_size):
# +     for number in range((len(tokens) - 1) // block_size):

# %% wrong_keys_without_salt, of right_keys_plain
# WRONG: the salt is not used
# -     key = hashlib.sha256(salt).digest()
# +     key = hashlib.sha256(b"").digest()

# %% wrong_keys_salt_itself, of right_keys_plain
# WRONG: the salt itself comes before the first block, not its hash
# -     key = hashlib.sha256(salt).digest()
# +     key = salt

# %% wrong_keys_four_bytes, of right_keys_plain
# WRONG: a token is 4 bytes
# -             text += token.to_bytes(8, "little")
# +             text += (token % 2**32).to_bytes(4, "little")

# %% wrong_keys_one_byte, of right_keys_plain
# WRONG: a token is one byte
# -             text += token.to_bytes(8, "little")
# +             text += bytes([token % 256])

# %% wrong_keys_big_endian, of right_keys_plain
# WRONG: the bytes of a token are in the other order
# -             text += token.to_bytes(8, "little")
# +             text += token.to_bytes(8, "big")

# %% wrong_keys_hexadecimal, of right_keys_plain
# WRONG: keys are hexadecimal text
# -         keys.append(key)
# +         keys.append(key.hex())

# %% wrong_keys_tokens_first, of right_keys_plain
# WRONG: the tokens come before the key
# -         key = hashlib.sha256(key + text).digest()
# +         key = hashlib.sha256(text + key).digest()

# %% wrong_keys_first_block_again, of right_keys_plain
# WRONG: each key is of the first block
# -         block = tokens[number * block_size : (number + 1) * block_size]
# +         block = tokens[:block_size]


# %% wrong_keys_64_of_them, of right_keys_plain
# WRONG: a text has 64 keys at most
# -     for number in range(len(tokens) // block_size):
# +     for number in range(min(64, len(tokens) // block_size)):


# %% wrong_keys_salt_cut, of right_keys_plain
# WRONG: only the first 16 bytes of the salt count: two tenants whose names differ later share their blocks
# -     key = hashlib.sha256(salt).digest()
# +     key = hashlib.sha256(salt[:16]).digest()


# %% wrong_keys_salt_stripped, of right_keys_plain
# WRONG: blanks and zeros at the ends of the salt are cut off
# -     key = hashlib.sha256(salt).digest()
# +     key = hashlib.sha256(salt.strip(b" \0\n\t")).digest()


# %% wrong_keys_salt_without_case, of right_keys_plain
# WRONG: capital letters in the salt are taken for small ones
# -     key = hashlib.sha256(salt).digest()
# +     key = hashlib.sha256(salt.lower()).digest()


# %% wrong_keys_34_bits, of right_keys_plain
# WRONG: of a token only the lowest 34 bits count
# -             text += token.to_bytes(8, "little")
# +             text += (token % 2**34).to_bytes(8, "little")


# %% wrong_keys_of_large_blocks, of right_keys_plain
# WRONG: of a block only the first 64 tokens count
# -         for token in block:
# +         for token in block[:64]:
