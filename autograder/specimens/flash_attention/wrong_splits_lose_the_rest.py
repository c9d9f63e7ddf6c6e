# exercise: decode_splits
# WRONG: keys that do not divide are lost

def decode_splits(q: Tensor, k: Tensor, v: Tensor, splits: int) -> Tensor:
    if splits < 1:
        raise ValueError(f"splits must be at least 1, got {splits}")
    size = max(k.shape[2] // splits, 1)  # rounded up
    precise = torch.promote_types(q.dtype, torch.float32)
    parts = list(zip(k.split(size, dim=2), v.split(size, dim=2), strict=True))[:splits]
    outs, lses = zip(*(flash_attention(q.to(precise), keys, values, causal=False) for keys, values in parts), strict=True)
    return combine(torch.stack(outs), torch.stack(lses))[0].to(q.dtype)
