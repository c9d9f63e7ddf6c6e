# Versions of standard_bytes, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_standard_summed
# RIGHT: each tensor by itself

def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    return (t_q * head_dim + 2 * t_k * head_dim + t_q * head_dim + 2 * t_q * t_k + 2 * t_q * t_k) * value_bytes


# %% wrong_standard_matrix_only
# WRONG: queries, keys, values and outputs are left out

def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    return (4 * t_q * t_k) * value_bytes


# %% wrong_standard_numbers
# WRONG: numbers are counted, not bytes

def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    return (2 * (t_q + t_k) * head_dim + 4 * t_q * t_k)


# %% wrong_standard_outputs_forgotten
# WRONG: the output is not written

def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    return ((t_q + 2 * t_k) * head_dim + 4 * t_q * t_k) * value_bytes


# %% wrong_standard_scores_once
# WRONG: scores and weights are counted once

def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    return (2 * (t_q + t_k) * head_dim + 2 * t_q * t_k) * value_bytes


# %% wrong_standard_square
# WRONG: as many keys as queries are taken for granted

def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    return (2 * (t_q + t_k) * head_dim + 4 * t_q * t_q) * value_bytes


# %% wrong_standard_weights_written_only
# WRONG: the weights are not read again

def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    return (2 * (t_q + t_k) * head_dim + 3 * t_q * t_k) * value_bytes
