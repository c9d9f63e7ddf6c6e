# exercise: top_k_probs
# RIGHT: numpy partition, row by row

import numpy as np


def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    out = np.zeros(logits.shape, dtype=np.float64)
    for i, row in enumerate(logits.numpy().astype(np.float64)):
        kk = min(k, len(row))
        kth = np.partition(row, len(row) - kk)[len(row) - kk]
        chosen = row >= kth
        weights = np.where(chosen, np.exp(row - row.max()), 0.0)
        out[i] = weights / weights.sum()
    return torch.from_numpy(out).to(logits.dtype)
