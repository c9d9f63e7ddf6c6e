# Versions of read_q8_0, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_q8_0_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def read_q8_0(raw):
    scale = raw[..., :2].contiguous().view(torch.float16).float()
    q = raw[..., 2:].contiguous().view(torch.int8)
    return q, scale


# %% right_q8_0_arithmetic
# RIGHT: the sign by arithmetic

def read_q8_0(raw):
    q = raw[..., 2:].to(torch.int16)
    q = torch.where(q > 127, q - 256, q).to(torch.int8)
    scale = raw[..., :2].clone(memory_format=torch.contiguous_format).view(torch.float16)
    return q, scale.to(torch.float32)


# %% right_q8_0_numpy
# RIGHT: numpy inside, with a dtype of the block's fields

def read_q8_0(raw):
    import numpy as np

    blocks = np.ascontiguousarray(raw.numpy()).view(np.dtype([("scale", "<f2"), ("q", "i1", (32,))])).reshape(raw.shape[:-1])
    return torch.tensor(blocks["q"]), torch.tensor(blocks["scale"].astype(np.float32)).unsqueeze(-1)


# %% wrong_q8_0_unsigned, of right_q8_0_plain
# WRONG: the bytes stay unsigned
# -     q = raw[..., 2:].contiguous().view(torch.int8)
# +     q = raw[..., 2:].contiguous()

# %% wrong_q8_0_unsigned_int16, of right_q8_0_plain
# WRONG: the bytes are read as unsigned, into int16
# -     q = raw[..., 2:].contiguous().view(torch.int8)
# +     q = raw[..., 2:].to(torch.int16)

# %% wrong_q8_0_half_of_the_bytes, of right_q8_0_plain
# WRONG: bytes over 127 become 127
# -     q = raw[..., 2:].contiguous().view(torch.int8)
# +     q = raw[..., 2:].clamp(max=127).to(torch.int8)

# %% wrong_q8_0_minus_128, of right_q8_0_plain
# WRONG: 128 is subtracted, in place of reading a sign
# -     q = raw[..., 2:].contiguous().view(torch.int8)
# +     q = (raw[..., 2:].to(torch.int16) - 128).to(torch.int8)

# %% wrong_q8_0_big_endian, of right_q8_0_plain
# WRONG: reads the two bytes of the scale in the other order
# -     scale = raw[..., :2].contiguous().view(torch.float16).float()
# +     scale = raw[..., [1, 0]].contiguous().view(torch.float16).float()

# %% wrong_q8_0_bfloat16, of right_q8_0_plain
# WRONG: reads the scale as bfloat16
# -     scale = raw[..., :2].contiguous().view(torch.float16).float()
# +     scale = raw[..., :2].contiguous().view(torch.bfloat16).float()

# %% wrong_q8_0_integer_scale, of right_q8_0_plain
# WRONG: reads the scale as a whole number
# -     scale = raw[..., :2].contiguous().view(torch.float16).float()
# +     scale = raw[..., :2].contiguous().view(torch.int16).float()

# %% wrong_q8_0_float16_back, of right_q8_0_plain
# WRONG: the scale stays float16
# -     scale = raw[..., :2].contiguous().view(torch.float16).float()
# +     scale = raw[..., :2].contiguous().view(torch.float16)

# %% wrong_q8_0_scale_behind, of right_q8_0_plain
# WRONG: reads the scale from the end of a block
# -     scale = raw[..., :2].contiguous().view(torch.float16).float()
# -     q = raw[..., 2:].contiguous().view(torch.int8)
# +     scale = raw[..., 32:].contiguous().view(torch.float16).float()
# +     q = raw[..., :32].contiguous().view(torch.int8)

# %% wrong_q8_0_first_block, of right_q8_0_plain
# WRONG: the first block's scale for all blocks
# -     scale = raw[..., :2].contiguous().view(torch.float16).float()
# +     scale = raw.reshape(-1, 34)[0, :2].contiguous().view(torch.float16).float().expand(*raw.shape[:-1], 1)

# %% wrong_q8_0_no_last_dimension, of right_q8_0_plain
# WRONG: the scale without its last dimension of size 1
# -     return q, scale
# +     return q, scale.squeeze(-1)

# %% wrong_q8_0_dequantized, of right_q8_0_plain
# WRONG: gives the weights in place of their numbers
# -     return q, scale
# +     return q * scale, scale
