# Versions of pack_nibbles, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_pack_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def pack_nibbles(q):
    if q.shape[-1] != 32:
        raise ValueError(f"32 numbers make a block, got {q.shape[-1]}")
    if (q > 15).any():
        raise ValueError(f"{int(q.max())} does not fit into 4 bits")
    low = q[..., :16]
    high = q[..., 16:]
    return low | (high << 4)


# %% right_pack_multiplies
# RIGHT: 16 * high + low in int32, through a dimension of halves

def pack_nibbles(q):
    n = q.size(-1)
    if n != 32:
        raise ValueError("wrong length " + str(n))
    if q.numel() and q.max().item() > 15:
        raise ValueError("too large: " + str(q.max().item()))
    halves = q.to(torch.int32).unflatten(-1, (2, 16))
    return (halves * torch.tensor([[1], [16]], dtype=torch.int32)).sum(dim=-2).to(torch.uint8)


# %% right_pack_numpy
# RIGHT: numpy inside

def pack_nibbles(q):
    import numpy as np

    values = q.numpy()
    if values.shape[-1] != 32:
        raise ValueError(f"got {values.shape[-1]} numbers, 32 were due")
    over = values[values > 15]
    if over.size:
        raise ValueError(f"{over[0]} has more than 4 bits")
    return torch.from_numpy(np.bitwise_or(values[..., :16], np.left_shift(values[..., 16:], 4)))


# %% wrong_pack_interleaved, of right_pack_plain
# WRONG: neighbours share a byte: 2i low, 2i + 1 high
# -     low = q[..., :16]
# -     high = q[..., 16:]
# +     low = q[..., 0::2]
# +     high = q[..., 1::2]

# %% wrong_pack_halves_exchanged, of right_pack_plain
# WRONG: number i in the high half, number i + 16 in the low one
# -     return low | (high << 4)
# +     return high | (low << 4)

# %% wrong_pack_or_without_shift, of right_pack_plain
# WRONG: the high half is not moved
# -     return low | (high << 4)
# +     return low | high

# %% wrong_pack_shift_three, of right_pack_plain
# WRONG: moved by 3 bits
# -     return low | (high << 4)
# +     return low | (high << 3)

# %% wrong_pack_high_mirrored, of right_pack_plain
# WRONG: number 31 - i beside number i
# -     high = q[..., 16:]
# +     high = q[..., 16:].flip(-1)

# %% wrong_pack_no_check_of_values, of right_pack_plain
# WRONG: numbers over 15 are not refused
# -     if (q > 15).any():
# -         raise ValueError(f"{int(q.max())} does not fit into 4 bits")

# %% wrong_pack_masks, of right_pack_plain
# WRONG: cuts numbers over 15 to 4 bits in silence
# -     if (q > 15).any():
# -         raise ValueError(f"{int(q.max())} does not fit into 4 bits")
# +     q = q & 15

# %% wrong_pack_allows_16, of right_pack_plain
# WRONG: 16 is let through
# -     if (q > 15).any():
# +     if (q > 16).any():

# %% wrong_pack_refuses_15, of right_pack_plain
# WRONG: 15 is refused
# -     if (q > 15).any():
# +     if (q >= 15).any():

# %% wrong_pack_first_row_checked, of right_pack_plain
# WRONG: looks at the first block only
# -     if (q > 15).any():
# +     if (q.reshape(-1, 32)[0] > 15).any():

# %% wrong_pack_no_check_of_length, of right_pack_plain
# WRONG: another length than 32 is not refused with its name
# -     if q.shape[-1] != 32:
# -         raise ValueError(f"32 numbers make a block, got {q.shape[-1]}")

# %% wrong_pack_even_lengths, of right_pack_plain
# WRONG: any even length will do
# -     if q.shape[-1] != 32:
# +     if q.shape[-1] % 2:

# %% wrong_pack_assert, of right_pack_plain
# WRONG: raises AssertionError
# -     if q.shape[-1] != 32:
# -         raise ValueError(f"32 numbers make a block, got {q.shape[-1]}")
# +     assert q.shape[-1] == 32, f"got {q.shape[-1]}"

# %% wrong_pack_names_nothing, of right_pack_plain
# WRONG: the message does not say which number it was
# -         raise ValueError(f"{int(q.max())} does not fit into 4 bits")
# +         raise ValueError("a number does not fit into 4 bits")

# %% wrong_pack_first_dimension, of right_pack_plain
# WRONG: asks for the first dimension's length
# -     if q.shape[-1] != 32:
# +     if q.shape[0] != 32 and q.shape[-1] != 32:

# %% wrong_pack_int32, of right_pack_plain
# WRONG: the bytes are int32
# -     return low | (high << 4)
# +     return (low | (high << 4)).int()

# %% wrong_pack_in_place, of right_pack_plain
# WRONG: moves the bits in q itself
# -     return low | (high << 4)
# +     return low | high.bitwise_left_shift_(4)
