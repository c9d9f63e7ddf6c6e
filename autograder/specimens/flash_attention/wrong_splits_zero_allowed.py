# exercise: decode_splits
# WRONG: splits below 1 are taken as 1

def decode_splits(q: Tensor, k: Tensor, v: Tensor, splits: int) -> Tensor:
    splits = max(splits, 1)
    size = -(-k.shape[2] // splits)  # rounded up
    precise = torch.promote_types(q.dtype, torch.float32)
    parts = zip(k.split(size, dim=2), v.split(size, dim=2), strict=True)
    outs, lses = zip(*(flash_attention(q.to(precise), keys, values, causal=False) for keys, values in parts), strict=True)
    return combine(torch.stack(outs), torch.stack(lses))[0].to(q.dtype)
