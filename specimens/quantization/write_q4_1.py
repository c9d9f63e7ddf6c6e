# Versions of write_q4_1, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_write_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def write_q4_1(x):
    _, scale, minimum = quantize_affine(x, 4)
    head = torch.cat((scale, minimum), dim=-1).half()
    scale, minimum = head[..., :1].float(), head[..., 1:].float()
    steps = torch.where(scale > 0, (x - minimum) / scale, 0.0)
    q = steps.round()
    q = q.clamp(0, 15)
    packed = pack_nibbles(q.to(torch.uint8))
    return torch.cat((head.view(torch.uint8), packed), dim=-1)


# %% right_write_by_itself
# RIGHT: nothing of the other functions; writes into one tensor

def write_q4_1(x):
    values = x.float()
    low, high = values.amin(-1, keepdim=True), values.amax(-1, keepdim=True)
    scale, minimum = ((high - low) / 15).half(), low.half()
    divisor = scale.float().masked_fill(scale == 0, float("inf"))
    q = ((values - minimum.float()) / divisor).round_().clamp_(0, 15).byte()
    raw = torch.empty(*x.shape[:-1], 20, dtype=torch.uint8)
    raw[..., 0:2] = scale.view(torch.uint8)
    raw[..., 2:4] = minimum.view(torch.uint8)
    raw[..., 4:] = q[..., :16] + q[..., 16:] * 16
    return raw


# %% right_write_numpy
# RIGHT: numpy inside

def write_q4_1(x):
    import numpy as np

    values = x.float().numpy()
    low = values.min(axis=-1, keepdims=True)
    head = np.concatenate(((values.max(axis=-1, keepdims=True) - low) / np.float32(15), low), axis=-1).astype("<f2")
    scale, minimum = head[..., :1].astype(np.float32), head[..., 1:].astype(np.float32)
    steps = np.divide(values - minimum, scale, out=np.zeros_like(values), where=scale > 0)
    q = np.clip(np.rint(steps), 0, 15).astype(np.uint8)
    return torch.from_numpy(np.concatenate((head.view(np.uint8), q[..., :16] | q[..., 16:] << 4), axis=-1))


# %% wrong_write_unrounded_scale, of right_write_plain
# WRONG: the numbers are for scale and minimum before they were rounded to float16
# -     _, scale, minimum = quantize_affine(x, 4)
# -     head = torch.cat((scale, minimum), dim=-1).half()
# -     scale, minimum = head[..., :1].float(), head[..., 1:].float()
# +     _, scale, minimum = quantize_affine(x, 4)
# +     head = torch.cat((scale, minimum), dim=-1).half()

# %% wrong_write_q_of_affine, of right_write_plain
# WRONG: takes the numbers of quantize_affine, which do not know what float16 makes of the scale
# -     packed = pack_nibbles(q.to(torch.uint8))
# +     packed = pack_nibbles(quantize_affine(x, 4)[0])

# %% wrong_write_unrounded_minimum, of right_write_plain
# WRONG: the numbers are for the minimum before it was rounded to float16
# -     scale, minimum = head[..., :1].float(), head[..., 1:].float()
# +     scale = head[..., :1].float()

# %% wrong_write_no_clamp, of right_write_plain
# WRONG: numbers that the rounded minimum pushes below 0 wrap around
# SAYS: With the minimum rounded to float16 a number can come out under 0 or over 15: clamp it.
# -     q = q.clamp(0, 15)
# +     q = q.to(torch.int32) % 16

# %% wrong_write_clamp_above_only, of right_write_plain
# WRONG: numbers below 0 are not clamped
# -     q = q.clamp(0, 15)
# +     q = q.clamp(max=15).to(torch.int32) % 16

# %% wrong_write_truncates, of right_write_plain
# WRONG: cuts off what is after the point, and does not round
# -     q = steps.round()
# +     q = steps

# %% wrong_write_half_up, of right_write_plain
# WRONG: rounds halves up, not to even
# -     q = steps.round()
# +     q = (steps + 0.5).floor()

# %% wrong_write_16_steps, of right_write_plain
# WRONG: the interval is cut into 16 steps
# -     _, scale, minimum = quantize_affine(x, 4)
# +     _, scale, minimum = quantize_affine(x, 4)
# +     scale = scale * 15 / 16

# %% wrong_write_8_bits, of right_write_plain
# WRONG: the scale of 8 bits, so that nearly all numbers are 15
# -     _, scale, minimum = quantize_affine(x, 4)
# +     _, scale, minimum = quantize_affine(x)

# %% wrong_write_exchanged, of right_write_plain
# WRONG: the minimum is stored first
# -     return torch.cat((head.view(torch.uint8), packed), dim=-1)
# +     return torch.cat((head.flip(-1).contiguous().view(torch.uint8), packed), dim=-1)

# %% wrong_write_big_endian, of right_write_plain
# WRONG: the bytes of each float16 in the other order
# -     return torch.cat((head.view(torch.uint8), packed), dim=-1)
# +     return torch.cat((head.view(torch.uint8)[..., [1, 0, 3, 2]], packed), dim=-1)

# %% wrong_write_head_behind, of right_write_plain
# WRONG: scale and minimum after the numbers
# -     return torch.cat((head.view(torch.uint8), packed), dim=-1)
# +     return torch.cat((packed, head.view(torch.uint8)), dim=-1)

# %% wrong_write_interleaved, of right_write_plain
# WRONG: neighbours share a byte: 2i low, 2i + 1 high
# -     packed = pack_nibbles(q.to(torch.uint8))
# +     q = q.to(torch.uint8)
# +     packed = q[..., 0::2] | q[..., 1::2] << 4

# %% wrong_write_nan_block, of right_write_plain
# WRONG: a block of equal numbers is divided by 0, and its nan becomes 7
# SAYS: A block of equal numbers has scale 0, and 0 / 0 is nan: its numbers are 0.
# -     steps = torch.where(scale > 0, (x - minimum) / scale, 0.0)
# +     steps = ((x - minimum) / scale).nan_to_num(nan=7.0)

# %% wrong_write_one_interval, of right_write_plain
# WRONG: one scale and minimum for all blocks
# -     _, scale, minimum = quantize_affine(x, 4)
# +     _, scale, minimum = (part.expand(*x.shape[:-1], 1) for part in quantize_affine(x.flatten(), 4))

# %% wrong_write_bfloat16, of right_write_plain
# WRONG: scale and minimum in bfloat16
# -     head = torch.cat((scale, minimum), dim=-1).half()
# +     head = torch.cat((scale, minimum), dim=-1).bfloat16()

# %% wrong_write_zero_asked_before, of right_write_plain
# WRONG: whether the scale is 0 is asked before float16 makes 0 of it: then it divides by 0
# -     head = torch.cat((scale, minimum), dim=-1).half()
# +     positive = scale > 0
# +     head = torch.cat((scale, minimum), dim=-1).half()
# ...
# -     steps = torch.where(scale > 0, (x - minimum) / scale, 0.0)
# +     steps = torch.where(positive, (x - minimum) / scale, 0.0)

# %% wrong_write_smallest_scale, of right_write_plain
# WRONG: a scale too small for float16 is stored as the smallest that it has
# -     head = torch.cat((scale, minimum), dim=-1).half()
# +     head = torch.cat((torch.where(scale > 0, scale.clamp(min=2**-24), scale), minimum), dim=-1).half()

# %% wrong_write_affine_at_scale_0, of right_write_plain
# WRONG: where the rounded scale is 0, the numbers of quantize_affine are kept
# -     _, scale, minimum = quantize_affine(x, 4)
# +     other, scale, minimum = quantize_affine(x, 4)
# ...
# -     steps = torch.where(scale > 0, (x - minimum) / scale, 0.0)
# +     steps = torch.where(scale > 0, (x - minimum) / scale, other.float())

# %% wrong_write_unrounded_scale_alone, of right_write_plain
# WRONG: the numbers are for the scale before it was rounded to float16
# -     scale, minimum = head[..., :1].float(), head[..., 1:].float()
# +     minimum = head[..., 1:].float()

# %% wrong_write_dtype_of_x, of right_write_plain
# WRONG: works in the dtype of x, which may be 16 bits
# -     steps = torch.where(scale > 0, (x - minimum) / scale, 0.0)
# +     steps = torch.where(scale > 0, ((x - minimum.to(x.dtype)) / scale.to(x.dtype)).float(), 0.0)

# %% wrong_write_view
# WRONG: the blocks of x by view, which x that is not contiguous does not allow

def write_q4_1(x):
    blocks = x.view(-1, 32)
    _, scale, minimum = quantize_affine(blocks, 4)
    head = torch.cat((scale, minimum), dim=-1).half()
    scale, minimum = head[:, :1].float(), head[:, 1:].float()
    q = torch.where(scale > 0, (blocks - minimum) / scale, 0.0).round().clamp(0, 15)
    return torch.cat((head.view(torch.uint8), pack_nibbles(q.to(torch.uint8))), dim=-1).view(*x.shape[:-1], 20)

# %% wrong_write_one_zero_for_all, of right_write_plain
# WRONG: if the scale of one block is 0, the numbers of all blocks are 0
# -     steps = torch.where(scale > 0, (x - minimum) / scale, 0.0)
# +     steps = torch.where((scale > 0).all(), (x - minimum) / scale, 0.0)
