# exercise: standard_bytes
# WRONG: the output is not written

def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    return ((t_q + 2 * t_k) * head_dim + 4 * t_q * t_k) * value_bytes
