# exercise: feed_forward
# RIGHT: memory view: a few keys and values at a time, einsum, sum of updates
def feed_forward(x, gate, up, down):
    wide = torch.promote_types(x.dtype, torch.float32)
    y = x.to(wide)
    update = torch.zeros(*x.shape[:-1], down.shape[0], dtype=wide, device=x.device)
    for start in range(0, gate.shape[0], 37):
        key, factor, value = gate[start : start + 37], up[start : start + 37], down[:, start : start + 37]
        match = torch.einsum("btd,fd->btf", y, key.to(wide))
        match = match / (1 + torch.exp(-match))
        update += torch.einsum("btf,btf,df->btd", match, torch.einsum("btd,fd->btf", y, factor.to(wide)), value.to(wide))
    return update.to(x.dtype)
