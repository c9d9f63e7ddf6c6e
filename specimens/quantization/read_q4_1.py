# Versions of read_q4_1, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_q4_1_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def read_q4_1(raw):
    head = raw[..., :4].contiguous().view(torch.float16).float()
    q = unpack_nibbles(raw[..., 4:])
    scale = head[..., 0:1]
    minimum = head[..., 1:2]
    return q, scale, minimum


# %% right_q4_1_two_views
# RIGHT: scale and minimum each by itself, from copies; unpacks by itself

def read_q4_1(raw):
    blocks = raw.clone(memory_format=torch.contiguous_format)
    scale = blocks[..., 0:2].contiguous().view(torch.float16).to(torch.float32)
    minimum = blocks[..., 2:4].contiguous().view(torch.float16).to(torch.float32)
    packed = blocks[..., 4:20]
    return torch.cat((packed % 16, packed // 16), dim=-1), scale, minimum


# %% right_q4_1_numpy
# RIGHT: numpy inside, with a dtype of the block's fields

def read_q4_1(raw):
    import numpy as np

    fields = np.dtype([("scale", "<f2"), ("minimum", "<f2"), ("packed", "u1", (16,))])
    blocks = np.ascontiguousarray(raw.numpy()).view(fields).reshape(raw.shape[:-1])
    scale, minimum = (torch.tensor(blocks[name].astype(np.float32)).unsqueeze(-1) for name in ("scale", "minimum"))
    return unpack_nibbles(torch.tensor(blocks["packed"])), scale, minimum


# %% right_q4_1_bits_by_hand
# RIGHT: puts the two bytes together by arithmetic and views int16 as float16

def read_q4_1(raw):
    wide = raw.to(torch.int32)
    words = wide[..., 0:4:2] + 256 * wide[..., 1:4:2]
    words = torch.where(words >= 32768, words - 65536, words).to(torch.int16)
    head = words.contiguous().view(torch.float16).float()
    scale, minimum = head.chunk(2, dim=-1)
    return unpack_nibbles(raw[..., 4:]), scale, minimum


# %% wrong_q4_1_big_endian, of right_q4_1_plain
# WRONG: reads the two bytes of a float16 in the other order
# -     head = raw[..., :4].contiguous().view(torch.float16).float()
# +     head = raw[..., [1, 0, 3, 2]].contiguous().view(torch.float16).float()

# %% wrong_q4_1_exchanged, of right_q4_1_plain
# WRONG: takes the first float16 for the minimum and the second for the scale
# -     scale = head[..., 0:1]
# -     minimum = head[..., 1:2]
# +     scale = head[..., 1:2]
# +     minimum = head[..., 0:1]

# %% wrong_q4_1_bfloat16, of right_q4_1_plain
# WRONG: reads scale and minimum as bfloat16
# -     head = raw[..., :4].contiguous().view(torch.float16).float()
# +     head = raw[..., :4].contiguous().view(torch.bfloat16).float()

# %% wrong_q4_1_float16_back, of right_q4_1_plain
# WRONG: scale and minimum stay float16
# -     head = raw[..., :4].contiguous().view(torch.float16).float()
# +     head = raw[..., :4].contiguous().view(torch.float16)

# %% wrong_q4_1_minus_minimum, of right_q4_1_plain
# WRONG: the minimum with its sign turned
# -     minimum = head[..., 1:2]
# +     minimum = -head[..., 1:2]

# %% wrong_q4_1_abs_scale, of right_q4_1_plain
# WRONG: a scale below 0 loses its sign
# -     scale = head[..., 0:1]
# +     scale = head[..., 0:1].abs()

# %% wrong_q4_1_interleaved, of right_q4_1_plain
# WRONG: a byte gives neighbours: 2i and 2i + 1
# -     q = unpack_nibbles(raw[..., 4:])
# +     packed = raw[..., 4:]
# +     q = torch.stack((packed & 15, packed >> 4), dim=-1).flatten(-2)

# %% wrong_q4_1_halves_exchanged, of right_q4_1_plain
# WRONG: high halves first
# -     q = unpack_nibbles(raw[..., 4:])
# +     q = unpack_nibbles(raw[..., 4:]).roll(16, dims=-1)

# %% wrong_q4_1_head_behind, of right_q4_1_plain
# WRONG: reads the numbers from the beginning of a block, and scale and minimum from its end
# -     head = raw[..., :4].contiguous().view(torch.float16).float()
# -     q = unpack_nibbles(raw[..., 4:])
# +     head = raw[..., 16:].contiguous().view(torch.float16).float()
# +     q = unpack_nibbles(raw[..., :16])

# %% wrong_q4_1_first_block, of right_q4_1_plain
# WRONG: the first block's scale for all blocks
# -     scale = head[..., 0:1]
# +     scale = head[..., 0:1].flatten()[0].expand(*raw.shape[:-1], 1)

# %% wrong_q4_1_no_last_dimension, of right_q4_1_plain
# WRONG: scale and minimum without their last dimension of size 1
# -     scale = head[..., 0:1]
# -     minimum = head[..., 1:2]
# +     scale = head[..., 0]
# +     minimum = head[..., 1]

# %% wrong_q4_1_dequantized, of right_q4_1_plain
# WRONG: gives the weights in place of their numbers
# -     return q, scale, minimum
# +     return q * scale + minimum, scale, minimum

# %% wrong_q4_1_signed, of right_q4_1_plain
# WRONG: 8 is subtracted, as another format (Q4_0) does
# -     return q, scale, minimum
# +     return q.to(torch.int8) - 8, scale, minimum

# %% wrong_q4_1_block_by_block, of right_q4_1_plain
# WRONG: right numbers, one block at a time
# SAYS: The numbers are right, but the blocks are read in a Python loop: the same few operations can read all of them at once.
# -     head = raw[..., :4].contiguous().view(torch.float16).float()
# -     q = unpack_nibbles(raw[..., 4:])
# +     blocks = raw.reshape(-1, 20)
# +     head = torch.stack([block[:4].clone().view(torch.float16).float() for block in blocks]).view(*raw.shape[:-1], 2)
# +     q = torch.stack([unpack_nibbles(block[4:]) for block in blocks]).view(*raw.shape[:-1], 32)
