# exercise: tile_plan
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
