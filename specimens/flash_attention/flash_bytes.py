# Versions of flash_bytes, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_flash_bytes_loop
# RIGHT: the bytes of keys and queries apart

def flash_bytes(
    t_q: int,
    t_k: int,
    head_dim: int,
    value_bytes: int,
    *,
    q_block: int,
    k_block: int,
    group: int = 1,
    causal: bool = False,
) -> int:
    keys = sum(end - start for tiles in tile_plan(t_q, t_k, q_block, k_block, causal) for start, end, _ in tiles)
    return 2 * group * t_q * head_dim * value_bytes + 2 * keys * head_dim * value_bytes


# %% right_flash_bytes_plain
# RIGHT: step by step; other versions are edits of it
def flash_bytes(t_q, t_k, head_dim, value_bytes, *, q_block, k_block, group=1, causal=False):
    plan = tile_plan(t_q, t_k, q_block, k_block, causal)
    keys = 0
    for tiles in plan:
        for start, end, _ in tiles:
            keys += end - start
    numbers = 2 * group * t_q * head_dim + 2 * keys * head_dim
    return numbers * value_bytes


# %% right_flash_bytes_by_ends
# RIGHT: a tile of queries reads all keys up to the end of its last tile of keys: no plan, only that end
def flash_bytes(t_q, t_k, head_dim, value_bytes, *, q_block, k_block, group=1, causal=False):
    if causal and t_q > t_k:
        raise ValueError(f"{t_q} queries but {t_k} keys")
    keys = 0
    for q_start in range(0, t_q, q_block):
        seen = t_k - t_q + min(q_start + q_block, t_q) if causal else t_k
        keys += min(-(-seen // k_block) * k_block, t_k)
    return 2 * value_bytes * head_dim * (group * t_q + keys)


# %% right_flash_bytes_numpy
# RIGHT: numpy, from the ends of the tiles
def flash_bytes(t_q, t_k, head_dim, value_bytes, *, q_block, k_block, group=1, causal=False):
    import numpy as np

    rows = tile_plan(t_q, t_k, q_block, k_block, causal)
    tiles = np.array([(a, b) for row in rows for a, b, _ in row], dtype=np.int64).reshape(-1, 2)
    per_key = head_dim * value_bytes
    return int(np.diff(tiles, axis=1).sum()) * per_key * 2 + group * t_q * per_key * 2


# %% wrong_flash_bytes_never_causal, of right_flash_bytes_loop
# WRONG: tiles that nobody may see are counted
# -     keys = sum(end - start for tiles in tile_plan(t_q, t_k, q_block, k_block, causal) for start, end, _ in tiles)
# -     return 2 * group * t_q * head_dim * value_bytes + 2 * keys * head_dim * value_bytes
# +     keys = sum(end - start for tiles in tile_plan(t_q, t_k, q_block, k_block, False) for start, end, _ in tiles)
# +     return (2 * group * t_q + 2 * keys) * head_dim * value_bytes


# %% wrong_flash_bytes_keys_of_each_head, of right_flash_bytes_loop
# WRONG: keys are read by each head of a group
# -     return 2 * group * t_q * head_dim * value_bytes + 2 * keys * head_dim * value_bytes
# +     return (2 * group * t_q + 2 * group * keys) * head_dim * value_bytes


# %% wrong_flash_bytes_keys_once, of right_flash_bytes_loop
# WRONG: keys and values are read once
# -     return 2 * group * t_q * head_dim * value_bytes + 2 * keys * head_dim * value_bytes
# +     return (2 * group * t_q + 2 * t_k) * head_dim * value_bytes


# %% wrong_flash_bytes_keys_without_values, of right_flash_bytes_loop
# WRONG: values are not read
# -     return 2 * group * t_q * head_dim * value_bytes + 2 * keys * head_dim * value_bytes
# +     return (2 * group * t_q + keys) * head_dim * value_bytes


# %% wrong_flash_bytes_numbers, of right_flash_bytes_loop
# WRONG: numbers are counted, not bytes
# -     return 2 * group * t_q * head_dim * value_bytes + 2 * keys * head_dim * value_bytes
# +     return (2 * group * t_q + 2 * keys) * head_dim


# %% wrong_flash_bytes_one_query_head, of right_flash_bytes_loop
# WRONG: the group has one query head
# -     return 2 * group * t_q * head_dim * value_bytes + 2 * keys * head_dim * value_bytes
# +     return (2 * t_q + 2 * keys) * head_dim * value_bytes


# %% wrong_flash_bytes_float, of right_flash_bytes_plain
# WRONG: a float
# -     return numbers * value_bytes
# +     return numbers * value_bytes / 1


# %% wrong_flash_bytes_groups_of_four, of right_flash_bytes_plain
# WRONG: of a group only four query heads are counted
# -     numbers = 2 * group * t_q * head_dim + 2 * keys * head_dim
# +     numbers = 2 * min(group, 4) * t_q * head_dim + 2 * keys * head_dim


# %% wrong_flash_bytes_64_columns, of right_flash_bytes_plain
# WRONG: for a tile of queries 64 tiles of keys are counted at most
# -         for start, end, _ in tiles:
# +         for start, end, _ in tiles[:64]:
