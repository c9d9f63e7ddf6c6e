# Versions of tile_plan, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_plan_mask_by_start
# RIGHT: a mask where the last key lies after the first query, written the other way

def tile_plan(t_q: int, t_k: int, q_block: int, k_block: int, causal: bool) -> list[list[tuple[int, int, bool]]]:
    if causal and t_q > t_k:
        raise ValueError(f"{t_q} queries cannot be the last of {t_k} keys: a causal query has a key of its own")
    plan = []
    for q_start in range(0, t_q, q_block):
        first = t_k - t_q + q_start  # positions of the tile's first and last query
        last = t_k - t_q + min(q_start + q_block, t_q) - 1
        seen = last + 1 if causal else t_k
        tiles = [(k_start, min(k_start + k_block, t_k)) for k_start in range(0, seen, k_block)]
        plan.append([(start, end, causal and not end <= first + 1) for start, end in tiles])
    return plan


# %% right_plan_rounded_up
# RIGHT: the number of tiles is worked out first

def tile_plan(t_q: int, t_k: int, q_block: int, k_block: int, causal: bool) -> list[list[tuple[int, int, bool]]]:
    if causal and t_q > t_k:
        raise ValueError(f"{t_q} queries cannot be the last of {t_k} keys: a causal query has a key of its own")
    plan = []
    for q_start in range(0, t_q, q_block):
        first = t_k - t_q + q_start  # positions of the tile's first and last query
        last = t_k - t_q + min(q_start + q_block, t_q) - 1
        seen = last + 1 if causal else t_k
        tiles = [(k_start, min(k_start + k_block, t_k)) for k_start in (i * k_block for i in range(-(-seen // k_block)))]
        plan.append([(start, end, causal and end - 1 > first) for start, end in tiles])
    return plan


# %% right_plan_tuples
# RIGHT: rows are tuples

def tile_plan(t_q: int, t_k: int, q_block: int, k_block: int, causal: bool) -> list[list[tuple[int, int, bool]]]:
    if causal and t_q > t_k:
        raise ValueError(f"{t_q} queries cannot be the last of {t_k} keys: a causal query has a key of its own")
    plan = []
    for q_start in range(0, t_q, q_block):
        first = t_k - t_q + q_start  # positions of the tile's first and last query
        last = t_k - t_q + min(q_start + q_block, t_q) - 1
        seen = last + 1 if causal else t_k
        tiles = [(k_start, min(k_start + k_block, t_k)) for k_start in range(0, seen, k_block)]
        plan.append(tuple((start, end, causal and end - 1 > first) for start, end in tiles))
    return plan


# %% right_plan_counts
# RIGHT: how many tiles of keys are seen whole, and how many at all, by division
def tile_plan(t_q, t_k, q_block, k_block, causal):
    offset = t_k - t_q
    if causal and offset < 0:
        raise ValueError(f"causal attention of {t_q} queries needs {t_q} keys or more, got {t_k}")

    def row(q_start):
        visible = min(offset + q_start + q_block, t_k) if causal else t_k
        by_all = offset + q_start + 1 if causal else t_k
        return [
            (n * k_block, min((n + 1) * k_block, t_k), min((n + 1) * k_block, t_k) > by_all) for n in range((visible + k_block - 1) // k_block)
        ]

    return [row(n * q_block) for n in range((t_q + q_block - 1) // q_block)]


# %% right_plan_numpy
# RIGHT: numpy, all tiles at once, plain numbers at the end
def tile_plan(t_q, t_k, q_block, k_block, causal):
    import numpy as np

    if causal and t_q > t_k:
        raise ValueError("more queries than keys: %d > %d" % (t_q, t_k))
    starts = np.arange(0, t_k, k_block)
    ends = np.minimum(starts + k_block, t_k)
    plan = []
    for q_start in range(0, t_q, q_block):
        positions = np.arange(q_start, min(q_start + q_block, t_q)) + t_k - t_q
        keep = starts <= positions.max() if causal else np.ones(len(starts), bool)
        mask = ends > positions.min() + 1 if causal else np.zeros(len(starts), bool)
        plan.append(list(zip(starts[keep].tolist(), ends[keep].tolist(), mask[keep].tolist())))
    return plan


# %% wrong_plan_too_many_queries, of right_plan_mask_by_start
# WRONG: more queries than keys raise nothing
# -     if causal and t_q > t_k:
# +     if False:
# ...
# -         plan.append([(start, end, causal and not end <= first + 1) for start, end in tiles])
# +         plan.append([(start, end, causal and end - 1 > first) for start, end in tiles])


# %% wrong_plan_from_the_start, of right_plan_mask_by_start
# WRONG: queries are aligned at the start
# -         first = t_k - t_q + q_start  # positions of the tile's first and last query
# -         last = t_k - t_q + min(q_start + q_block, t_q) - 1
# +         first = q_start  # positions of the tile's first and last query
# +         last = min(q_start + q_block, t_q) - 1
# ...
# -         plan.append([(start, end, causal and not end <= first + 1) for start, end in tiles])
# +         plan.append([(start, end, causal and end - 1 > first) for start, end in tiles])


# %% wrong_plan_masks_at_the_diagonal_only, of right_plan_mask_by_start
# WRONG: a mask only where a tile begins on the first query
# -         plan.append([(start, end, causal and not end <= first + 1) for start, end in tiles])
# +         plan.append([(start, end, causal and start == first) for start, end in tiles])


# %% wrong_plan_masks_everywhere, of right_plan_mask_by_start
# WRONG: every tile gets a mask
# -         plan.append([(start, end, causal and not end <= first + 1) for start, end in tiles])
# +         plan.append([(start, end, causal) for start, end in tiles])


# %% wrong_plan_drops_the_diagonal, of right_plan_rounded_up
# WRONG: the tile that begins on the last query is dropped
# -         seen = last + 1 if causal else t_k
# -         tiles = [(k_start, min(k_start + k_block, t_k)) for k_start in (i * k_block for i in range(-(-seen // k_block)))]
# +         seen = last if causal else t_k
# +         tiles = [(k_start, min(k_start + k_block, t_k)) for k_start in range(0, seen, k_block)]


# %% wrong_plan_skips_nothing, of right_plan_rounded_up
# WRONG: no tile is skipped
# -         seen = last + 1 if causal else t_k
# -         tiles = [(k_start, min(k_start + k_block, t_k)) for k_start in (i * k_block for i in range(-(-seen // k_block)))]
# +         seen = t_k
# +         tiles = [(k_start, min(k_start + k_block, t_k)) for k_start in range(0, seen, k_block)]


# %% wrong_plan_drops_the_short_tile, of right_plan_rounded_up
# WRONG: a last, short tile is dropped
# -         tiles = [(k_start, min(k_start + k_block, t_k)) for k_start in (i * k_block for i in range(-(-seen // k_block)))]
# +         tiles = [(k_start, min(k_start + k_block, t_k)) for k_start in range(0, seen, k_block) if k_start + k_block <= t_k]


# %% wrong_plan_mask_off_by_one, of right_plan_mask_by_start
# WRONG: the mask is off by one: a tile whose last key is one after the first query gets none
# -         plan.append([(start, end, causal and not end <= first + 1) for start, end in tiles])
# +         plan.append([(start, end, causal and end - 1 > first + 1) for start, end in tiles])


# %% wrong_plan_mask_one_too_early, of right_plan_mask_by_start
# WRONG: the mask is off by one: a tile that ends with the first query's own key gets one
# -         plan.append([(start, end, causal and not end <= first + 1) for start, end in tiles])
# +         plan.append([(start, end, causal and end > first) for start, end in tiles])


# %% wrong_plan_64_columns, of right_plan_mask_by_start
# WRONG: a tile of queries reads 64 tiles of keys at most
# -         plan.append([(start, end, causal and not end <= first + 1) for start, end in tiles])
# +         plan.append([(start, end, causal and end - 1 > first) for start, end in tiles[:64]])


# %% wrong_plan_64_rows, of right_plan_mask_by_start
# WRONG: there are 64 tiles of queries at most
#           plan.append([(start, end, causal and not end <= first + 1) for start, end in tiles])
# -     return plan
# +     return plan[:64]


# %% wrong_plan_small_blocks, of right_plan_mask_by_start
# WRONG: tiles of keys are cut at 512, however many are asked for
# -     plan = []
# +     k_block = min(k_block, 512)
# +     plan = []
