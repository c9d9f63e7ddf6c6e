# exercise: standard_bytes
# WRONG: scores and weights are counted once

def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    return (2 * (t_q + t_k) * head_dim + 2 * t_q * t_k) * value_bytes
