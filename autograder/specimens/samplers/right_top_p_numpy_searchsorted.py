# exercise: top_p_probs
# RIGHT: numpy: searchsorted on the running sum gives the size of the nucleus

import numpy as np


def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if p <= 0 or p > 1:
        raise ValueError("top_p=%r" % p)
    if p == 1:
        return softmax(logits)
    out = np.zeros(logits.shape)
    for i, row in enumerate(logits.double().numpy()):
        weights = np.exp(row - row.max())
        probs = weights / weights.sum()
        ids = np.argsort(-probs, kind="stable")
        size = int(np.searchsorted(np.cumsum(probs[ids]), p, side="left")) + 1
        keep = ids[:size]
        out[i, keep] = probs[keep] / probs[keep].sum()
    return torch.tensor(out, dtype=logits.dtype, device=logits.device)
