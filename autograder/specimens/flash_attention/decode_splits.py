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
