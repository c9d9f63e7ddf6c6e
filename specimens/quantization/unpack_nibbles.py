# Versions of unpack_nibbles, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_unpack_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def unpack_nibbles(packed):
    low = packed & 15
    high = packed >> 4
    return torch.cat((low, high), dim=-1)


# %% right_unpack_remainder
# RIGHT: division with remainder, written into a tensor

def unpack_nibbles(packed):
    q = torch.empty(*packed.shape[:-1], 32, dtype=torch.uint8)
    q[..., :16] = packed % 16
    q[..., 16:] = packed.div(16, rounding_mode="floor")
    return q


# %% right_unpack_shifts
# RIGHT: both shifts at once

def unpack_nibbles(packed):
    shifts = torch.tensor([[0], [4]], dtype=torch.uint8)
    return ((packed.unsqueeze(-2) >> shifts) & 0x0F).flatten(-2)


# %% wrong_unpack_interleaved, of right_unpack_plain
# WRONG: a byte gives neighbours: 2i and 2i + 1
# -     return torch.cat((low, high), dim=-1)
# +     return torch.stack((low, high), dim=-1).flatten(-2)

# %% wrong_unpack_exchanged, of right_unpack_plain
# WRONG: high halves first
# -     return torch.cat((low, high), dim=-1)
# +     return torch.cat((high, low), dim=-1)

# %% wrong_unpack_signed_shift, of right_unpack_plain
# WRONG: the bytes are shifted as signed ones, so that high halves over 7 are below 0
# -     high = packed >> 4
# +     high = (packed.view(torch.int8) >> 4).view(torch.uint8)

# %% wrong_unpack_high_not_moved, of right_unpack_plain
# WRONG: the high half is masked and not moved
# -     high = packed >> 4
# +     high = packed & 240

# %% wrong_unpack_low_not_masked, of right_unpack_plain
# WRONG: the low half still has the high one on top
# -     low = packed & 15
# +     low = packed

# %% wrong_unpack_mask_7, of right_unpack_plain
# WRONG: three bits of the low half
# -     low = packed & 15
# +     low = packed & 7

# %% wrong_unpack_floating, of right_unpack_plain
# WRONG: gives floating numbers
# -     return torch.cat((low, high), dim=-1)
# +     return torch.cat((low, high), dim=-1).float()

# %% wrong_unpack_int8, of right_unpack_plain
# WRONG: gives int8
# -     return torch.cat((low, high), dim=-1)
# +     return torch.cat((low, high), dim=-1).to(torch.int8)

# %% wrong_unpack_first_dimension, of right_unpack_plain
# WRONG: puts blocks below each other, not numbers beside each other
# -     return torch.cat((low, high), dim=-1)
# +     return torch.cat((low, high), dim=0)

# %% wrong_unpack_high_mirrored, of right_unpack_plain
# WRONG: the high halves come back to front
# -     high = packed >> 4
# +     high = (packed >> 4).flip(-1)

# %% wrong_unpack_centred, of right_unpack_plain
# WRONG: 8 is subtracted, as another format (Q4_0) does
# -     return torch.cat((low, high), dim=-1)
# +     return torch.cat((low, high), dim=-1) - 8

# %% wrong_unpack_in_place, of right_unpack_plain
# WRONG: masks the bytes themselves
# -     low = packed & 15
# -     high = packed >> 4
# +     high = packed >> 4
# +     low = packed.bitwise_and_(15)
