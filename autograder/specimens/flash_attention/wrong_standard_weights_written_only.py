# exercise: standard_bytes
# WRONG: the weights are not read again

def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    return (2 * (t_q + t_k) * head_dim + 3 * t_q * t_k) * value_bytes
