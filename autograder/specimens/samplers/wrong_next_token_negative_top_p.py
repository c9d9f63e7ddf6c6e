# exercise: sample_next_token
# WRONG: a top_p below 0 is not refused

import numpy as np


def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    if temperature < 0:
        raise ValueError(f"temperature must be >= 0 (got {temperature})")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be >= 1 (got {top_k})")
    if top_p is not None and (top_p == 0 or top_p > 1):
        raise ValueError(f"top_p must be in (0, 1] (got {top_p})")
    x = logits.double().numpy()
    ids = np.argsort(-x, axis=1, kind="stable")
    if temperature == 0:
        return torch.from_numpy(ids[:, :1].copy())
    x = np.take_along_axis(x, ids, axis=1)
    weights = np.exp((x - x[:, :1]) / temperature)
    if top_k is not None and top_k < x.shape[1]:
        weights[x < x[:, top_k - 1 : top_k]] = 0
    probs = weights / weights.sum(axis=1, keepdims=True)
    if top_p is not None and top_p < 1:
        probs[np.cumsum(probs, axis=1) - probs >= top_p] = 0
    sums = np.cumsum(probs, axis=1)
    u = torch.rand(len(x), 1, generator=generator, dtype=torch.float64, device=logits.device).numpy() * sums[:, -1:]
    rank = (sums <= u).sum(axis=1, keepdims=True)
    return torch.from_numpy(np.take_along_axis(ids, rank, axis=1))
