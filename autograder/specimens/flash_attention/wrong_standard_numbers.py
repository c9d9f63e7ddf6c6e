# exercise: standard_bytes
# WRONG: numbers are counted, not bytes

def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    return (2 * (t_q + t_k) * head_dim + 4 * t_q * t_k)
