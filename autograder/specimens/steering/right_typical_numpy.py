# exercise: typical_probs
# RIGHT: numpy with searchsorted

import numpy as np

def typical_probs(logits, mass):
    if mass <= 0 or mass > 1:
        raise ValueError(f"mass {mass}")
    out = np.zeros(tuple(logits.shape))
    for b, row in enumerate(logits.double().numpy()):
        row = row - row.max()
        p = np.exp(row) / np.exp(row).sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            surprise = -np.log(p)
            h = np.where(p > 0, p * surprise, 0).sum()
        order = np.argsort(np.abs(surprise - h), kind="stable")
        n = len(row) if mass == 1 else np.searchsorted(np.cumsum(p[order]), mass - 1e-12) + 1
        chosen = order[:n]
        out[b, chosen] = p[chosen] / p[chosen].sum()
    return torch.from_numpy(out)
