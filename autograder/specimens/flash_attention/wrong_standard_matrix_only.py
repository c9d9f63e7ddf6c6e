# exercise: standard_bytes
# WRONG: queries, keys, values and outputs are left out

def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    return (4 * t_q * t_k) * value_bytes
