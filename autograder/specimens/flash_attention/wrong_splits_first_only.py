# exercise: decode_splits
# WRONG: only the first part is used

def decode_splits(q: Tensor, k: Tensor, v: Tensor, splits: int) -> Tensor:
    if splits < 1:
        raise ValueError(f"splits must be at least 1, got {splits}")
    size = -(-k.shape[2] // splits)  # rounded up
    precise = torch.promote_types(q.dtype, torch.float32)
    parts = zip(k.split(size, dim=2), v.split(size, dim=2), strict=True)
    outs, lses = zip(*(flash_attention(q.to(precise), keys, values, causal=False) for keys, values in parts), strict=True)
    return outs[0].to(q.dtype)
