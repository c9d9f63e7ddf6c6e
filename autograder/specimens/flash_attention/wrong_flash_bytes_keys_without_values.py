# exercise: flash_bytes
# WRONG: values are not read

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
    return (2 * group * t_q + keys) * head_dim * value_bytes
