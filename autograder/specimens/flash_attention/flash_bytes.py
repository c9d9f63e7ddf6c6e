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
