# exercise: flash_attention
# RIGHT: the rows of a tile are written out as a slice

def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool, q_block: int = 64, k_block: int = 64
) -> tuple[Tensor, Tensor]:
    B, H, Tq, Dh = q.shape
    K, Tk, Dv = *k.shape[1:3], v.shape[-1]
    plan = tile_plan(Tq, Tk, q_block, k_block, causal)
    precise = torch.promote_types(q.dtype, torch.float32)
    out = torch.empty(B, H, Tq, Dv, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, Tq, dtype=precise, device=q.device)
    positions = torch.arange(Tk, device=q.device)
    for q_start, tiles in zip(range(0, Tq, q_block), plan, strict=True):
        rows = slice(q_start, min(q_start + q_block, Tq))
        # The H/K query heads of a group stand under each other, so that a tile of keys is read once for all of them.
        queries = (q[:, :, rows].to(precise) * Dh**-0.5).reshape(B, K, -1, Dh)  # (B, K, H/K * n, Dh)
        state = State.empty(queries.shape[:-1], Dv, precise, q.device)
        for start, end, needs_mask in tiles:
            scores = queries @ k[:, :, start:end].to(precise).transpose(-2, -1)
            if needs_mask:
                seen = positions[start:end] <= positions[Tk - Tq :][rows, None]  # (n, keys)
                scores = scores.masked_fill(~seen.repeat(H // K, 1), -torch.inf)
            state = absorb(state, scores, v[:, :, start:end].to(precise))
        tile_out, tile_lse = finish(state)
        out[:, :, rows.start : rows.stop] = tile_out.reshape(B, H, -1, Dv)
        lse[:, :, rows] = tile_lse.reshape(B, H, -1)
    return out, lse
