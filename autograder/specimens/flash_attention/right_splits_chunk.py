# exercise: decode_splits
# RIGHT: torch cuts the parts

def decode_splits(q: Tensor, k: Tensor, v: Tensor, splits: int) -> Tensor:
    if splits < 1:
        raise ValueError(f"splits must be at least 1, got {splits}")
    size = -(-k.shape[2] // splits)  # rounded up
    precise = torch.promote_types(q.dtype, torch.float32)
    parts = zip(k.chunk(splits, dim=2), v.chunk(splits, dim=2), strict=True)
    outs, lses = zip(*(flash_attention(q.to(precise), keys, values, causal=False) for keys, values in parts), strict=True)
    return combine(torch.stack(outs), torch.stack(lses))[0].to(q.dtype)
