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


# %% right_flash_plain
# RIGHT: step by step; other versions are edits of it
def flash_attention(q, k, v, *, causal, q_block=64, k_block=64):
    B, H, Tq, Dh = q.shape
    K, Tk, Dv = k.shape[1], k.shape[2], v.shape[3]
    group = H // K
    plan = tile_plan(Tq, Tk, q_block, k_block, causal)
    precise = torch.float64 if q.dtype == torch.float64 else torch.float32
    out = torch.empty(B, H, Tq, Dv, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, Tq, dtype=precise, device=q.device)
    for number, tiles in enumerate(plan):
        start, end = number * q_block, min((number + 1) * q_block, Tq)
        n = end - start
        queries = q[:, :, start:end].to(precise) * Dh**-0.5
        queries = queries.reshape(B, K, group * n, Dh)
        state = State.empty((B, K, group * n), Dv, precise, q.device)
        for first, last, needs_mask in tiles:
            keys, values = k[:, :, first:last].to(precise), v[:, :, first:last].to(precise)
            scores = queries @ keys.transpose(-2, -1)
            if needs_mask:
                at = torch.arange(start, end, device=q.device) + Tk - Tq
                hidden = torch.arange(first, last, device=q.device) > at.unsqueeze(-1)
                scores = scores.masked_fill(hidden.repeat(group, 1), -torch.inf)
            state = absorb(state, scores, values)
        tile_out, tile_lse = finish(state)
        out[:, :, start:end] = tile_out.reshape(B, H, n, Dv).to(q.dtype)
        lse[:, :, start:end] = tile_lse.reshape(B, H, n)
    return out, lse


# %% right_flash_five_dimensions
# RIGHT: the group has a dimension of its own, keys are broadcast over it; tiles of keys last first; joined by cat
def flash_attention(q, k, v, *, causal, q_block=64, k_block=64):
    B, H, Tq, Dh = q.shape
    K, Tk = k.shape[1:3]
    precise = torch.promote_types(q.dtype, torch.float32)
    grouped = q.unflatten(1, (K, H // K))  # (B, K, G, Tq, Dh)
    outs, lses = [], []
    for q_tile, tiles in zip(grouped.split(q_block, dim=3), tile_plan(Tq, Tk, q_block, k_block, causal)):
        q_tile = q_tile.to(precise) / Dh**0.5
        n = q_tile.shape[3]
        done = sum(part.shape[3] for part in lses)
        state = State.empty(q_tile.shape[:-1], v.shape[-1], precise, q.device)
        for a, b, needs_mask in reversed(tiles):
            scores = torch.einsum("bkgqd,bksd->bkgqs", q_tile, k[:, :, a:b].to(precise))
            if needs_mask:
                rows = torch.arange(n, device=q.device)[:, None] + (Tk - Tq + done)
                cols = torch.arange(a, b, device=q.device)[None, :]
                scores = torch.where(cols <= rows, scores, float("-inf"))
            state = absorb(state, scores, v[:, :, None, a:b].to(precise))
        o, s = finish(state)
        outs.append(o.to(q.dtype))
        lses.append(s)
    return torch.cat(outs, dim=3).flatten(1, 2), torch.cat(lses, dim=3).flatten(1, 2)


# %% right_flash_head_by_head
# RIGHT: one row of the batch and one key/value head at a time; its own running sums, no absorb, no plan
def flash_attention(q, k, v, *, causal, q_block=64, k_block=64):
    B, H, Tq, Dh = q.shape
    K, Tk, Dv = k.shape[1], k.shape[2], v.shape[3]
    if causal and Tq > Tk:
        raise ValueError(f"Tq = {Tq} > Tk = {Tk}")
    precise = torch.float64 if q.dtype == torch.float64 else torch.float32
    out = torch.zeros(B, H, Tq, Dv, dtype=q.dtype, device=q.device)
    lse = torch.zeros(B, H, Tq, dtype=precise, device=q.device)
    group = H // K
    for b in range(B):
        for head in range(K):
            heads = slice(head * group, (head + 1) * group)
            for i in range(0, Tq, q_block):
                j = min(i + q_block, Tq)
                queries = q[b, heads, i:j].to(precise).flatten(0, 1)  # (group * n, Dh): a small copy
                m = torch.full((group, j - i), -torch.inf, dtype=precise, device=q.device)
                l = torch.zeros_like(m)
                acc = torch.zeros(*m.shape, Dv, dtype=precise, device=q.device)
                seen = Tk - Tq + j if causal else Tk
                for s in range(0, seen, k_block):
                    e = min(s + k_block, Tk)
                    scores = (queries @ k[b, head, s:e].to(precise).T).view(group, j - i, e - s) / Dh**0.5
                    if causal:
                        above = torch.ones(j - i, e - s, dtype=torch.bool, device=q.device).triu(Tk - Tq + i - s + 1)
                        scores.masked_fill_(above, -torch.inf)
                    new = torch.maximum(m, scores.amax(-1))
                    p = (scores - new[..., None]).exp()
                    fade = (m - new).exp()
                    l = l * fade + p.sum(-1)
                    acc = acc * fade[..., None] + p @ v[b, head, s:e].to(precise)
                    m = new
                out[b, heads, i:j] = (acc / l[..., None]).to(q.dtype)
                lse[b, heads, i:j] = m + l.log()
    return out, lse


# %% right_flash_running_mean
# RIGHT: keeps out and lse, divided at each tile, and joins them by logaddexp; in half precision the queries are cast first
def flash_attention(q, k, v, *, causal, q_block=64, k_block=64):
    B, H, Tq, Dh = q.shape
    K, Tk = k.shape[1:3]
    dtype = q.dtype
    precise = torch.promote_types(dtype, torch.float32)
    q = q.to(precise)
    out = q.new_zeros(B, K, H // K, Tq, v.shape[-1])
    lse = q.new_full((B, K, H // K, Tq), -torch.inf)
    for number, tiles in enumerate(tile_plan(Tq, Tk, q_block, k_block, causal)):
        rows = slice(number * q_block, min(number * q_block + q_block, Tq))
        size = rows.stop - rows.start
        x = (q[:, :, rows] * Dh**-0.5).reshape(B, K, -1, Dh)
        mine = q.new_zeros(B, K, x.shape[2], v.shape[-1])
        total = q.new_full((B, K, x.shape[2]), -torch.inf)
        for a, b, needs_mask in tiles:
            scores = x @ k[:, :, a:b].to(precise).mT
            if needs_mask:
                at = torch.arange(rows.start, rows.stop, device=q.device).repeat(H // K) + (Tk - Tq)
                scores = scores.masked_fill(torch.arange(a, b, device=q.device) > at[:, None], -torch.inf)
            new = torch.logaddexp(total, torch.logsumexp(scores, -1))
            safe = new.masked_fill(new.isneginf(), 0)
            mine = mine * (total - safe).exp()[..., None] + (scores - safe[..., None]).exp() @ v[:, :, a:b].to(precise)
            total = new
        out[:, :, :, rows] = mine.view(B, K, H // K, size, -1)
        lse[:, :, :, rows] = total.view(B, K, H // K, size)
    return out.flatten(1, 2).to(dtype), lse.flatten(1, 2)


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

# %% wrong_flash_half_accumulator, of right_flash_plain
# WRONG: what has been summed up is rounded to q's dtype after every tile
# -             state = absorb(state, scores, values)
# +             state = absorb(state, scores, values)
# +             state = State(state.m, state.l, state.acc.to(q.dtype).to(precise))


# %% wrong_flash_mask_ten_thousand, of right_flash_plain
# WRONG: a masked score is -10,000, not -inf
# -                 scores = scores.masked_fill(hidden.repeat(group, 1), -torch.inf)
# +                 scores = scores.masked_fill(hidden.repeat(group, 1), -1e4)


# %% wrong_flash_positions_of_q, of right_flash_plain
# WRONG: positions have q's dtype: in bfloat16 those above 256 run together
# -                 at = torch.arange(start, end, device=q.device) + Tk - Tq
# -                 hidden = torch.arange(first, last, device=q.device) > at.unsqueeze(-1)
# +                 at = (torch.arange(start, end, device=q.device) + Tk - Tq).to(q.dtype)
# +                 hidden = torch.arange(first, last, device=q.device).to(q.dtype) > at.unsqueeze(-1)


# %% wrong_flash_scales_in_half, of right_flash_plain
# WRONG: the queries are scaled, and rounded, in q's dtype before they become float32
# -         queries = q[:, :, start:end].to(precise) * Dh**-0.5
# +         queries = (q[:, :, start:end] * Dh**-0.5).to(precise)


# %% wrong_flash_default_k_block_half, of right_flash_plain
# WRONG: tiles of 32 keys where none are asked for
# - def flash_attention(q, k, v, *, causal, q_block=64, k_block=64):
# + def flash_attention(q, k, v, *, causal, q_block=64, k_block=32):


# %% wrong_flash_keeps_its_memory, of right_flash_plain
# WRONG: gives out memory that the next call writes over
# - def flash_attention(q, k, v, *, causal, q_block=64, k_block=64):
# + kept = {}
# +
# +
# + def flash_attention(q, k, v, *, causal, q_block=64, k_block=64):
# ...
# -     lse = torch.empty(B, H, Tq, dtype=precise, device=q.device)
# +     lse = kept.setdefault((B, H, Tq, precise, q.device), torch.empty(B, H, Tq, dtype=precise, device=q.device))


# %% wrong_flash_whole_mask, of right_flash_plain
# WRONG: makes the whole mask, Tq x Tk, beforehand
# -     for number, tiles in enumerate(plan):
# +     whole = torch.arange(Tk, device=q.device) > torch.arange(Tk - Tq, Tk, device=q.device).unsqueeze(-1) if causal else None
# +     for number, tiles in enumerate(plan):
# ...
# -                 at = torch.arange(start, end, device=q.device) + Tk - Tq
# -                 hidden = torch.arange(first, last, device=q.device) > at.unsqueeze(-1)
# +                 hidden = whole[start:end, first:last]


# %% wrong_flash_scale_of_pairs, of right_flash_plain
# WRONG: the scale is made from whole pairs of entries: a head of one number has none
# -         queries = q[:, :, start:end].to(precise) * Dh**-0.5
# +         queries = q[:, :, start:end].to(precise) * (Dh // 2 * 2) ** -0.5


# %% wrong_flash_positions_interleaved, of right_flash_plain
# WRONG: the queries' positions are row by row, 0 0 1 1, though the heads of a group are one below the other, 0 1 0 1
# -                 scores = scores.masked_fill(hidden.repeat(group, 1), -torch.inf)
# +                 scores = scores.masked_fill(hidden.repeat_interleave(group, dim=0), -torch.inf)


# %% wrong_flash_blocks_exchanged, of right_flash_plain
# WRONG: q_block and k_block are exchanged
# -     B, H, Tq, Dh = q.shape
# +     q_block, k_block = k_block, q_block
# +     B, H, Tq, Dh = q.shape


# %% wrong_flash_state_of_q, of right_flash_plain
# WRONG: m, l and acc are kept in q's dtype, 16 bits too
# -             state = absorb(state, scores, values)
# +             state = absorb(state, scores, values)
# +             state = State(*(part.to(q.dtype).to(precise) for part in (state.m, state.l, state.acc)))


# %% wrong_flash_wide_heads, of right_flash_plain
# WRONG: a head wider than 64 is scaled as one of 64
# -         queries = q[:, :, start:end].to(precise) * Dh**-0.5
# +         queries = q[:, :, start:end].to(precise) * min(Dh, 64) ** -0.5


# %% wrong_flash_narrow_heads, of right_flash_plain
# WRONG: of a head wider than 64 only the first 64 numbers are multiplied
# -         queries = q[:, :, start:end].to(precise) * Dh**-0.5
# +         queries = q[:, :, start:end].to(precise) * Dh**-0.5
# +         queries[..., 64:] = 0.0


# %% wrong_flash_groups_of_four, of right_flash_plain
# WRONG: in a group of more than four heads the others see every key of a tile that needs a mask
# -                 scores = scores.masked_fill(hidden.repeat(group, 1), -torch.inf)
# +                 rows = hidden.repeat(min(group, 4), 1)
# +                 rows = torch.nn.functional.pad(rows, (0, 0, 0, group * n - len(rows)))
# +                 scores = scores.masked_fill(rows, -torch.inf)


# %% wrong_flash_keys_of_each_head, of right_flash_plain
# WRONG: keys and values are repeated for each head of a group, and read by each
# -     group = H // K
# +     k, v = (x.repeat_interleave(H // K, dim=1) for x in (k, v))
# +     K, group = H, 1


# %% wrong_flash_window, of right_flash_plain
# WRONG: a query sees the 1,024 keys before it at most
# -             scores = queries @ keys.transpose(-2, -1)
# +             scores = queries @ keys.transpose(-2, -1)
# +             far = torch.arange(first, last, device=q.device) <= torch.arange(start, end, device=q.device)[:, None] + Tk - Tq - 1024
# +             scores = scores.masked_fill(far.repeat(group, 1), -torch.inf)


# %% wrong_flash_eight_rows, of right_flash_plain
# WRONG: of a batch only the first eight rows are worked out
# -     return out, lse
# +     out[8:], lse[8:] = out[:1], lse[:1]
# +     return out, lse


# %% wrong_flash_absorbs_key_by_key
# WRONG: absorb takes the keys of a tile in one by one: right, and slow
def absorb(state, scores, values):
    m, l, acc = state.m, state.l, state.acc
    for j in range(scores.shape[-1]):
        score = scores[..., j]
        new = torch.maximum(m, score)
        base = new.masked_fill(new == -torch.inf, 0.0)
        fade, weight = (m - base).exp(), (score - base).exp()
        l = l * fade + weight
        acc = acc * fade.unsqueeze(-1) + weight.unsqueeze(-1) * values[..., j : j + 1, :]
        m = new
    return State(m, l, acc)


# %% wrong_flash_copies_all_keys, of right_flash_rows_written_out
# WRONG: all keys and values are made precise before the loops: two copies that grow with the text
# -     precise = torch.promote_types(q.dtype, torch.float32)
# +     precise = torch.promote_types(q.dtype, torch.float32)
# +     k, v = k.to(precise), v.to(precise)


# %% wrong_flash_no_wider_than_256, of right_flash_mask_everywhere
# WRONG: tiles of more than 256 keys or queries are cut to 256, and the plan is still that of the larger ones
# -             scores = queries @ k[:, :, start:end].to(precise).transpose(-2, -1)
# +             end = min(end, start + 256)
# +             scores = queries @ k[:, :, start:end].to(precise).transpose(-2, -1)
