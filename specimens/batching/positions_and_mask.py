# Versions of positions_and_mask, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_positions_and_mask_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def positions_and_mask(num_pad: Tensor, start: int, q_len: int) -> tuple[Tensor, Tensor]:
    slots = torch.arange(start + q_len, device=num_pad.device)
    queries, keys = slots[start:, None], slots[None, :]  # (q_len, 1), (1, start+q_len)
    pads = num_pad[:, None, None]  # (B, 1, 1)
    positions = (slots[start:] - num_pad[:, None]).clamp(min=0)
    real = (keys >= pads) & (keys <= queries)  # (B, q_len, start+q_len)
    return positions, (real | (keys == queries)).unsqueeze(1)


# %% right_positions_and_mask_cumsum
# RIGHT: positions by counting real tokens, mask by causal_mask

def positions_and_mask(num_pad, start, q_len):
    from solutions.attention import causal_mask
    keys = torch.arange(start + q_len, device=num_pad.device)
    is_real = keys[None] >= num_pad[:, None]
    positions = (is_real.long().cumsum(dim=1) - 1).clamp(min=0)[:, start:]
    causal = causal_mask(q_len, start + q_len).to(num_pad.device)
    eye = torch.eye(start + q_len, dtype=torch.bool, device=num_pad.device)[start:]
    return positions, (causal[None] & is_real[:, None] | eye)[:, None]


# %% right_positions_and_mask_loops
# RIGHT: entry by entry

def positions_and_mask(num_pad, start, q_len):
    B, keys = len(num_pad), start + q_len
    positions = torch.zeros(B, q_len, dtype=torch.int64)
    mask = torch.zeros(B, 1, q_len, keys, dtype=torch.bool)
    for b in range(B):
        pads = int(num_pad[b])
        for i in range(q_len):
            slot = start + i
            positions[b, i] = max(slot - pads, 0)
            mask[b, 0, i, slot] = True
            if slot >= pads:
                mask[b, 0, i, pads : slot + 1] = True
    return positions, mask


# %% right_positions_and_mask_whole_then_cut
# RIGHT: the whole square, then the last rows

def positions_and_mask(num_pad, start, q_len):
    T = start + q_len
    slots = torch.arange(T)
    whole = torch.ones(T, T, dtype=torch.bool).tril().expand(len(num_pad), 1, T, T).clone()
    for row, pads in zip(whole, num_pad.tolist()):
        row[..., :pads] = False
        row[0].diagonal().fill_(True)
    return torch.maximum(slots - num_pad[:, None], torch.tensor(0))[:, start:], whole[:, :, start:]


# %% wrong_positions_and_mask_memo_by_identity
# WRONG: the mask is remembered for the same num_pad object, so a num_pad changed in place gets an old answer
def positions_and_mask(num_pad: Tensor, start: int, q_len: int) -> tuple[Tensor, Tensor]:
    """Where each query stands in its own row, and which keys it may see, for the slots start to start + q_len - 1.

    num_pad (B,) int64 -> positions (B, q_len) int64, mask (B, 1, q_len, start+q_len) bool, on num_pad's device.
    Positions count from each row's first real token; pads get 0. A real query sees the real keys up to itself; a pad
    sees itself only, so that no row of a softmax is empty.
    """
    memo = positions_and_mask.__dict__.setdefault("memo", {})
    if (memo.get("pads") is num_pad) and memo["place"] == (start, q_len):
        return memo["answer"]
    slots = torch.arange(start + q_len, device=num_pad.device)
    queries, keys = slots[start:, None], slots[None, :]  # (q_len, 1), (1, start+q_len)
    pads = num_pad[:, None, None]  # (B, 1, 1)
    positions = (slots[start:] - num_pad[:, None]).clamp(min=0)
    real = (keys >= pads) & (keys <= queries)  # (B, q_len, start+q_len)
    memo.update(pads=num_pad, place=(start, q_len), answer=(positions, (real | (keys == queries)).unsqueeze(1)))
    return memo["answer"]


# %% wrong_positions_remembered_by_shape
# WRONG: remembers tables by their shapes, so the second batch of a shape gets the first one's pads
_tables = {}


def positions_and_mask(num_pad, start, q_len):
    key = (len(num_pad), start, q_len)
    if key in _tables:
        return _tables[key]
    slots = torch.arange(start + q_len, device=num_pad.device)
    queries, keys = slots[start:, None], slots[None, :]
    pads = num_pad[:, None, None]
    positions = (slots[start:] - num_pad[:, None]).clamp(min=0)
    real = (keys >= pads) & (keys <= queries)
    _tables[key] = (positions, (real | (keys == queries)).unsqueeze(1))
    return _tables[key]


# %% wrong_positions_remembered_by_sum
# WRONG: remembers tables by their shapes and the number of all pads, so rows that change places get each other's pads
_answers = {}


def positions_and_mask(num_pad, start, q_len):
    key = (len(num_pad), int(num_pad.sum()), start, q_len)
    if key not in _answers:
        slots = torch.arange(start + q_len, device=num_pad.device)
        queries, keys = slots[start:, None], slots[None, :]
        real = (keys >= num_pad[:, None, None]) & (keys <= queries)
        _answers[key] = ((slots[start:] - num_pad[:, None]).clamp(min=0), (real | (keys == queries)).unsqueeze(1))
    return _answers[key]

# %% wrong_positions_and_mask_buffer, of right_positions_and_mask_plain
# WRONG: slots are cut from a buffer of 1,024
# -
#   def positions_and_mask(num_pad: Tensor, start: int, q_len: int) -> tuple[Tensor, Tensor]:
# -     slots = torch.arange(start + q_len, device=num_pad.device)
# +     slots = torch.arange(1024, device=num_pad.device)[: start + q_len]

# %% wrong_positions_and_mask_on_the_cpu, of right_positions_and_mask_plain
# WRONG: slots are counted on the CPU, wherever num_pad is
# -
#   def positions_and_mask(num_pad: Tensor, start: int, q_len: int) -> tuple[Tensor, Tensor]:
# -     slots = torch.arange(start + q_len, device=num_pad.device)
# +     slots = torch.arange(start + q_len)

# %% wrong_positions_and_mask_positions_minus_start_pads, of right_positions_and_mask_plain
# WRONG: pads of later chunks counted from the chunk
# -     pads = num_pad[:, None, None]  # (B, 1, 1)
# +     pads = (num_pad - start).clamp(min=0)[:, None, None]  # (B, 1, 1)

# %% wrong_positions_and_mask_row_zero_for_all, of right_positions_and_mask_plain
# WRONG: the pads of the first row for all
# -     pads = num_pad[:, None, None]  # (B, 1, 1)
# +     pads = num_pad[:1, None, None].expand(len(num_pad), 1, 1)  # (B, 1, 1)

# %% wrong_positions_and_mask_negative_positions, of right_positions_and_mask_plain
# WRONG: pads have negative positions
# -     positions = (slots[start:] - num_pad[:, None]).clamp(min=0)
# +     positions = (slots[start:] - num_pad[:, None])

# %% wrong_positions_and_mask_pads_at_one, of right_positions_and_mask_plain
# WRONG: pads get position 1 in place of 0
# -     positions = (slots[start:] - num_pad[:, None]).clamp(min=0)
# +     positions = (slots[start:] - num_pad[:, None]).where(slots[start:] >= num_pad[:, None], torch.tensor(1))

# %% wrong_positions_and_mask_positions_from_the_pad, of right_positions_and_mask_plain
# WRONG: positions count from the first slot, pads and all
# -     positions = (slots[start:] - num_pad[:, None]).clamp(min=0)
# +     positions = slots[start:].expand(len(num_pad), -1).clone()

# %% wrong_positions_and_mask_positions_without_start, of right_positions_and_mask_plain
# WRONG: positions begin at 0 in every chunk
# -     positions = (slots[start:] - num_pad[:, None]).clamp(min=0)
# +     positions = (slots[:q_len] - num_pad[:, None]).clamp(min=0)

# %% wrong_positions_and_mask_does_not_see_itself, of right_positions_and_mask_plain
# WRONG: only keys before itself, pads themselves
# -     real = (keys >= pads) & (keys <= queries)  # (B, q_len, start+q_len)
# -     return positions, (real | (keys == queries)).unsqueeze(1)
# +     real = (keys >= pads) & (keys < queries)  # (B, q_len, start+q_len)
# +     return positions, (real | ((keys == queries) & (queries < pads))).unsqueeze(1)

# %% wrong_positions_and_mask_last_pad_seen, of right_positions_and_mask_plain
# WRONG: the last pad is seen
# -     real = (keys >= pads) & (keys <= queries)  # (B, q_len, start+q_len)
# +     real = (keys >= pads - 1) & (keys <= queries)  # (B, q_len, start+q_len)

# %% wrong_positions_and_mask_mask_start_aligned, of right_positions_and_mask_plain
# WRONG: the mask is aligned at the start in later chunks
# -     real = (keys >= pads) & (keys <= queries)  # (B, q_len, start+q_len)
# -     return positions, (real | (keys == queries)).unsqueeze(1)
# +     real = (keys >= pads) & (keys <= queries - start)  # (B, q_len, start+q_len)
# +     return positions, (real | (keys == queries - start)).unsqueeze(1)

# %% wrong_positions_and_mask_not_causal, of right_positions_and_mask_plain
# WRONG: prompts see ahead
# -     real = (keys >= pads) & (keys <= queries)  # (B, q_len, start+q_len)
# +     real = (keys >= pads) & (queries >= pads)  # (B, q_len, start+q_len)

# %% wrong_positions_and_mask_one_pad_too_many, of right_positions_and_mask_plain
# WRONG: the first real token is masked too
# -     real = (keys >= pads) & (keys <= queries)  # (B, q_len, start+q_len)
# +     real = (keys > pads) & (keys <= queries)  # (B, q_len, start+q_len)

# %% wrong_positions_and_mask_pads_attended, of right_positions_and_mask_plain
# WRONG: real queries see the pads
# -     real = (keys >= pads) & (keys <= queries)  # (B, q_len, start+q_len)
# +     real = (keys >= 0 * pads) & (keys <= queries)  # (B, q_len, start+q_len)

# %% wrong_positions_and_mask_sees_the_next, of right_positions_and_mask_plain
# WRONG: queries see one key ahead
# -     real = (keys >= pads) & (keys <= queries)  # (B, q_len, start+q_len)
# +     real = (keys >= pads) & (keys <= queries + 1)  # (B, q_len, start+q_len)

# %% wrong_positions_and_mask_float_mask, of right_positions_and_mask_plain
# WRONG: an additive mask of -inf
# SAYS: Your mask holds numbers to be added to scores. It is to be bool, True where a query may see a key.
# -     return positions, (real | (keys == queries)).unsqueeze(1)
# +     return positions, torch.zeros(real.shape).masked_fill(~(real | (keys == queries)), float('-inf')).unsqueeze(1)

# %% wrong_positions_and_mask_inverted, of right_positions_and_mask_plain
# WRONG: True where a query may not see
# SAYS: Your mask is True where a query may not see. True means that it may.
# -     return positions, (real | (keys == queries)).unsqueeze(1)
# +     return positions, ~(real | (keys == queries)).unsqueeze(1)

# %% wrong_positions_and_mask_mask_of_the_chunk_only, of right_positions_and_mask_plain
# WRONG: the keys are only those of this chunk
# -     return positions, (real | (keys == queries)).unsqueeze(1)
# +     return positions, (real | (keys == queries)).unsqueeze(1)[..., start:]

# %% wrong_positions_and_mask_no_head_axis, of right_positions_and_mask_plain
# WRONG: mask (B, q, k)
# SAYS: Your mask is (B, q_len, keys). It needs an axis of size 1 for the heads: (B, 1, q_len, keys).
# -     return positions, (real | (keys == queries)).unsqueeze(1)
# +     return positions, (real | (keys == queries))

# %% wrong_positions_and_mask_pads_see_everything_before, of right_positions_and_mask_plain
# WRONG: a pad sees all pads before it
# -     return positions, (real | (keys == queries)).unsqueeze(1)
# +     return positions, (real | ((queries < pads) & (keys <= queries))).unsqueeze(1)

# %% wrong_positions_and_mask_pads_see_nothing, of right_positions_and_mask_plain
# WRONG: a pad sees nothing
# -     return positions, (real | (keys == queries)).unsqueeze(1)
# +     return positions, real.unsqueeze(1)
