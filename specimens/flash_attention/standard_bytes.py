# Versions of standard_bytes, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_standard_summed
# RIGHT: each tensor by itself

def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    return (t_q * head_dim + 2 * t_k * head_dim + t_q * head_dim + 2 * t_q * t_k + 2 * t_q * t_k) * value_bytes


# %% right_standard_plain
# RIGHT: step by step; other versions are edits of it
def standard_bytes(t_q, t_k, head_dim, value_bytes):
    texts = 2 * (t_q + t_k) * head_dim
    matrix = 4 * t_q * t_k
    return (texts + matrix) * value_bytes


# %% right_standard_traffic
# RIGHT: what is read and what is written, one after the other
def standard_bytes(t_q, t_k, head_dim, value_bytes):
    queries, keys, scores = t_q * head_dim, t_k * head_dim, t_q * t_k
    reads = [queries, keys, scores, scores, keys]
    writes = [scores, scores, queries]
    return sum(numbers * value_bytes for numbers in reads + writes)


# %% right_standard_numpy
# RIGHT: a product of numpy vectors that hold Python's ints, which have no limit
def standard_bytes(t_q, t_k, head_dim, value_bytes):
    import numpy as np

    numbers = np.array([t_q * head_dim, t_k * head_dim, t_q * t_k], dtype=object)
    return int(numbers @ np.array([2, 2, 4])) * value_bytes


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


# %% wrong_standard_int64, of right_standard_plain
# WRONG: the matrix is counted in 64 bits, which hold no more than 2**63 - 1
# -     matrix = 4 * t_q * t_k
# +     matrix = int(4 * torch.tensor(t_q) * torch.tensor(t_k))


# %% wrong_standard_float, of right_standard_plain
# WRONG: a float
# -     return (texts + matrix) * value_bytes
# +     return float((texts + matrix) * value_bytes)
