# Versions of flash_attention, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_flash_mask_everywhere
# RIGHT: masks every tile it reads when causal

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
            if causal:
                seen = positions[start:end] <= positions[Tk - Tq :][rows, None]  # (n, keys)
                scores = scores.masked_fill(~seen.repeat(H // K, 1), -torch.inf)
            state = absorb(state, scores, v[:, :, start:end].to(precise))
        tile_out, tile_lse = finish(state)
        out[:, :, rows] = tile_out.reshape(B, H, -1, Dv)
        lse[:, :, rows] = tile_lse.reshape(B, H, -1)
    return out, lse


# %% right_flash_rows_written_out
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


# %% right_flash_root_afterwards
# RIGHT: the scores are scaled, not the queries

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
        queries = (q[:, :, rows].to(precise)).reshape(B, K, -1, Dh)  # (B, K, H/K * n, Dh)
        state = State.empty(queries.shape[:-1], Dv, precise, q.device)
        for start, end, needs_mask in tiles:
            scores = queries @ k[:, :, start:end].to(precise).transpose(-2, -1) / Dh**0.5
            if needs_mask:
                seen = positions[start:end] <= positions[Tk - Tq :][rows, None]  # (n, keys)
                scores = scores.masked_fill(~seen.repeat(H // K, 1), -torch.inf)
            state = absorb(state, scores, v[:, :, start:end].to(precise))
        tile_out, tile_lse = finish(state)
        out[:, :, rows] = tile_out.reshape(B, H, -1, Dv)
        lse[:, :, rows] = tile_lse.reshape(B, H, -1)
    return out, lse

# %% wrong_flash_no_tile_skipped, of right_flash_mask_everywhere
# WRONG: every tile is read, those that nobody may see too
# -     plan = tile_plan(Tq, Tk, q_block, k_block, causal)
# +     plan = [[(a, b, causal) for a, b, _ in row] for row in tile_plan(Tq, Tk, q_block, k_block, False)]
# +     if causal and Tq > Tk:
# +         raise ValueError(f"{Tq} queries, {Tk} keys")
# ...
# -             if causal:
# +             if needs_mask:

# %% wrong_flash_always_float32, of right_flash_mask_everywhere
# WRONG: everything is worked out in float32
# -     precise = torch.promote_types(q.dtype, torch.float32)
# +     precise = torch.float32
# ...
# -             if causal:
# +             if needs_mask:

# %% wrong_flash_in_low_precision, of right_flash_mask_everywhere
# WRONG: 16 bits are worked out in 16 bits
# -     precise = torch.promote_types(q.dtype, torch.float32)
# +     precise = q.dtype
# ...
# -             if causal:
# +             if needs_mask:

# %% wrong_flash_on_the_cpu, of right_flash_mask_everywhere
# WRONG: the mask is made on the CPU
# -     positions = torch.arange(Tk, device=q.device)
# +     positions = torch.arange(Tk)
# ...
# -             if causal:
# +             if needs_mask:

# %% wrong_flash_scale_by_width, of right_flash_mask_everywhere
# WRONG: the scores are divided by Dh
# -         queries = (q[:, :, rows].to(precise) * Dh**-0.5).reshape(B, K, -1, Dh)  # (B, K, H/K * n, Dh)
# +         queries = (q[:, :, rows].to(precise) * Dh**-1).reshape(B, K, -1, Dh)  # (B, K, H/K * n, Dh)
# ...
# -             if causal:
# +             if needs_mask:

# %% wrong_flash_scaled_twice, of right_flash_mask_everywhere
# WRONG: the scores are scaled twice
# -             scores = queries @ k[:, :, start:end].to(precise).transpose(-2, -1)
# -             if causal:
# +             scores = Dh**-0.5 * queries @ k[:, :, start:end].to(precise).transpose(-2, -1)
# +             if needs_mask:

# %% wrong_flash_mask_from_the_start, of right_flash_mask_everywhere
# WRONG: the mask is aligned at the start
# -             if causal:
# -                 seen = positions[start:end] <= positions[Tk - Tq :][rows, None]  # (n, keys)
# +             if needs_mask:
# +                 seen = positions[start:end] <= positions[rows, None]  # (n, keys)

# %% wrong_flash_mask_off_by_one, of right_flash_mask_everywhere
# WRONG: a query does not see its own key
# -             if causal:
# -                 seen = positions[start:end] <= positions[Tk - Tq :][rows, None]  # (n, keys)
# +             if needs_mask:
# +                 seen = positions[start:end] < positions[Tk - Tq :][rows, None]  # (n, keys)

# %% wrong_flash_heads_of_a_group, of right_flash_rows_written_out
# WRONG: query head h uses key/value head h modulo K
# -         queries = (q[:, :, rows].to(precise) * Dh**-0.5).reshape(B, K, -1, Dh)  # (B, K, H/K * n, Dh)
# +         queries = (q[:, :, rows].to(precise) * Dh**-0.5).unflatten(1, (H // K, K)).transpose(1, 2).reshape(B, K, -1, Dh)  # (B, K, H/K * n, Dh)
# ...
# -         out[:, :, rows.start : rows.stop] = tile_out.reshape(B, H, -1, Dv)
# +         out[:, :, rows] = tile_out.unflatten(2, (H // K, -1)).transpose(1, 2).reshape(B, H, -1, Dv)

# %% wrong_flash_three_keys_at_a_time, of right_flash_mask_everywhere
# WRONG: the keys of a tile are absorbed three by three, whatever k_block is
# -             scores = queries @ k[:, :, start:end].to(precise).transpose(-2, -1)
# -             if causal:
# -                 seen = positions[start:end] <= positions[Tk - Tq :][rows, None]  # (n, keys)
# -                 scores = scores.masked_fill(~seen.repeat(H // K, 1), -torch.inf)
# -             state = absorb(state, scores, v[:, :, start:end].to(precise))
# +             for first in range(start, end, 3):
# +                 few = slice(first, min(first + 3, end))
# +                 scores = queries @ k[:, :, few].to(precise).transpose(-2, -1)
# +                 if needs_mask:
# +                     seen = positions[few] <= positions[Tk - Tq :][rows, None]  # (n, keys)
# +                     scores = scores.masked_fill(~seen.repeat(H // K, 1), -torch.inf)
# +                 state = absorb(state, scores, v[:, :, few].to(precise))
