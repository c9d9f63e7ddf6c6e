# Versions of decode_splits, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_splits_large_tiles
# RIGHT: each part is one tile

def decode_splits(q: Tensor, k: Tensor, v: Tensor, splits: int) -> Tensor:
    if splits < 1:
        raise ValueError(f"splits must be at least 1, got {splits}")
    size = -(-k.shape[2] // splits)  # rounded up
    precise = torch.promote_types(q.dtype, torch.float32)
    parts = zip(k.split(size, dim=2), v.split(size, dim=2), strict=True)
    outs, lses = zip(*(flash_attention(q.to(precise), keys, values, causal=False, k_block=size) for keys, values in parts), strict=True)
    return combine(torch.stack(outs), torch.stack(lses))[0].to(q.dtype)


# %% right_splits_chunk
# RIGHT: torch cuts the parts

def decode_splits(q: Tensor, k: Tensor, v: Tensor, splits: int) -> Tensor:
    if splits < 1:
        raise ValueError(f"splits must be at least 1, got {splits}")
    size = -(-k.shape[2] // splits)  # rounded up
    precise = torch.promote_types(q.dtype, torch.float32)
    parts = zip(k.chunk(splits, dim=2), v.chunk(splits, dim=2), strict=True)
    outs, lses = zip(*(flash_attention(q.to(precise), keys, values, causal=False) for keys, values in parts), strict=True)
    return combine(torch.stack(outs), torch.stack(lses))[0].to(q.dtype)


# %% right_splits_plain
# RIGHT: step by step; other versions are edits of it
def decode_splits(q, k, v, splits):
    if splits < 1:
        raise ValueError(f"splits is {splits}")
    precise = torch.float64 if q.dtype == torch.float64 else torch.float32
    length = k.shape[2]
    size = (length + splits - 1) // splits
    outs, lses = [], []
    for start in range(0, length, size):
        end = min(start + size, length)
        out, lse = flash_attention(q.to(precise), k[:, :, start:end], v[:, :, start:end], causal=False)
        outs.append(out)
        lses.append(lse)
    out, _ = combine(torch.stack(outs), torch.stack(lses))
    return out.to(q.dtype)


# %% right_splits_padded
# RIGHT: all parts side by side in one product, the last one filled up with keys that are masked
def decode_splits(q, k, v, splits):
    if splits <= 0:
        raise ValueError(f"got {splits} splits")
    precise = torch.promote_types(q.dtype, torch.float32)
    (B, H, _, Dh), (K, Tk), Dv = q.shape, k.shape[1:3], v.shape[-1]
    size = -(-Tk // splits)
    parts = -(-Tk // size)
    pad = (0, 0, 0, parts * size - Tk)
    keys = torch.nn.functional.pad(k.to(precise), pad).view(B, K, parts, size, Dh)
    values = torch.nn.functional.pad(v.to(precise), pad).view(B, K, parts, size, Dv)
    scores = torch.einsum("bkgd,bkpnd->pbkgn", q.to(precise).view(B, K, H // K, Dh) * Dh**-0.5, keys)
    real = torch.arange(parts * size, device=q.device).view(parts, 1, 1, 1, size) < Tk
    scores = scores.masked_fill(~real, -torch.inf)
    outs = torch.einsum("pbkgn,bkpnd->pbkgd", scores.softmax(-1), values)
    return combine(outs, scores.logsumexp(-1))[0].view(B, H, 1, Dv).to(q.dtype)


# %% right_splits_states
# RIGHT: each part is absorbed into a state of its own; parts are joined two at a time
def decode_splits(q, k, v, splits):
    if not splits >= 1:
        raise ValueError(f"splits must be 1 or more: {splits}")
    size = -(-k.size(2) // splits)
    out = lse = None
    for start in range(0, k.size(2), size):
        part = slice(start, start + size)
        piece = flash_attention(q.double(), k[:, :, part].double(), v[:, :, part].double(), causal=False, q_block=1, k_block=size)
        if out is None:
            out, lse = piece
        else:
            out, lse = combine(torch.stack((out, piece[0])), torch.stack((lse, piece[1])))
    return out.to(q.dtype)


# %% wrong_splits_zero_allowed
# WRONG: splits below 1 are taken as 1

def decode_splits(q: Tensor, k: Tensor, v: Tensor, splits: int) -> Tensor:
    splits = max(splits, 1)
    size = -(-k.shape[2] // splits)  # rounded up
    precise = torch.promote_types(q.dtype, torch.float32)
    parts = zip(k.split(size, dim=2), v.split(size, dim=2), strict=True)
    outs, lses = zip(*(flash_attention(q.to(precise), keys, values, causal=False) for keys, values in parts), strict=True)
    return combine(torch.stack(outs), torch.stack(lses))[0].to(q.dtype)


# %% wrong_splits_first_only, of right_splits_large_tiles
# WRONG: only the first part is used
# -     outs, lses = zip(*(flash_attention(q.to(precise), keys, values, causal=False, k_block=size) for keys, values in parts), strict=True)
# -     return combine(torch.stack(outs), torch.stack(lses))[0].to(q.dtype)
# +     outs, lses = zip(*(flash_attention(q.to(precise), keys, values, causal=False) for keys, values in parts), strict=True)
# +     return outs[0].to(q.dtype)


# %% wrong_splits_float32_out, of right_splits_large_tiles
# WRONG: the result does not have the dtype of the query
# -     outs, lses = zip(*(flash_attention(q.to(precise), keys, values, causal=False, k_block=size) for keys, values in parts), strict=True)
# -     return combine(torch.stack(outs), torch.stack(lses))[0].to(q.dtype)
# +     outs, lses = zip(*(flash_attention(q.to(precise), keys, values, causal=False) for keys, values in parts), strict=True)
# +     return combine(torch.stack(outs), torch.stack(lses))[0].float()


# %% wrong_splits_plain_mean, of right_splits_large_tiles
# WRONG: the parts are averaged
# -     outs, lses = zip(*(flash_attention(q.to(precise), keys, values, causal=False, k_block=size) for keys, values in parts), strict=True)
# -     return combine(torch.stack(outs), torch.stack(lses))[0].to(q.dtype)
# +     outs, lses = zip(*(flash_attention(q.to(precise), keys, values, causal=False) for keys, values in parts), strict=True)
# +     return torch.stack(outs).mean(dim=0).to(q.dtype)


# %% wrong_splits_lose_the_rest, of right_splits_chunk
# WRONG: keys that do not divide are lost
# -     size = -(-k.shape[2] // splits)  # rounded up
# +     size = max(k.shape[2] // splits, 1)  # rounded up
#       precise = torch.promote_types(q.dtype, torch.float32)
# -     parts = zip(k.chunk(splits, dim=2), v.chunk(splits, dim=2), strict=True)
# +     parts = list(zip(k.split(size, dim=2), v.split(size, dim=2), strict=True))[:splits]


# %% wrong_splits_more_than_keys, of right_splits_chunk
# WRONG: more splits than keys raise
# -     size = -(-k.shape[2] // splits)  # rounded up
# +     size = k.shape[2] // splits  # rounded up
#       precise = torch.promote_types(q.dtype, torch.float32)
# -     parts = zip(k.chunk(splits, dim=2), v.chunk(splits, dim=2), strict=True)
# +     parts = zip(k.split(size, dim=2), v.split(size, dim=2), strict=True)


# %% wrong_splits_rounds_parts, of right_splits_plain
# WRONG: what a part gives is rounded to q's dtype before it is put together
# -         outs.append(out)
# +         outs.append(out.to(q.dtype).to(precise))


# %% wrong_splits_rounds_lse, of right_splits_plain
# WRONG: a part's lse is rounded to q's dtype before it is put together
# -         lses.append(lse)
# +         lses.append(lse.to(q.dtype).to(precise))


# %% wrong_splits_last_takes_the_rest, of right_splits_plain
# WRONG: the length of a run is rounded down, and the last run takes all keys that are left
# -     size = (length + splits - 1) // splits
# +     size = max(length // splits, 1)
#       outs, lses = [], []
# -     for start in range(0, length, size):
# -         end = min(start + size, length)
# +     for part in range(min(splits, length)):
# +         start = part * size
# +         end = start + size if part < splits - 1 else length


# %% wrong_splits_wide_heads, of right_splits_plain
# WRONG: only the first 64 numbers of each value come back
# -     out, _ = combine(torch.stack(outs), torch.stack(lses))
# +     out, _ = combine(torch.stack(outs), torch.stack(lses))
# +     out[..., 64:] = 0.0


# %% wrong_splits_eight_parts, of right_splits_plain
# WRONG: the first eight parts are put together, and the others are lost
# -     out, _ = combine(torch.stack(outs), torch.stack(lses))
# +     out, _ = combine(torch.stack(outs[:8]), torch.stack(lses[:8]))


# %% wrong_splits_never_cut, of right_splits_plain
# WRONG: all keys are one run, however many splits are asked for
# -     size = (length + splits - 1) // splits
# +     size = length


# %% wrong_splits_rounded_down, of right_splits_plain
# WRONG: the length of a run is rounded down: there are more runs than splits
# -     size = (length + splits - 1) // splits
# +     size = max(1, length // splits)
