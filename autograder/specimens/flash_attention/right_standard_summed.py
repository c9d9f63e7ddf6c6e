# exercise: standard_bytes
# RIGHT: each tensor by itself

def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    return (t_q * head_dim + 2 * t_k * head_dim + t_q * head_dim + 2 * t_q * t_k + 2 * t_q * t_k) * value_bytes
