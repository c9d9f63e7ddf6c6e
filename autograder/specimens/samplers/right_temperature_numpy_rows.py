# exercise: temperature_probs
# RIGHT: numpy, one row after another

import numpy as np


def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError("temperature must not be negative: %s" % tau)
    rows = []
    for row in logits.detach().numpy().astype(np.float64):
        if tau == 0:
            new = np.zeros_like(row)
            new[row.argmax()] = 1.0
        else:
            new = np.exp((row - row.max()) / tau)
            new /= new.sum()
        rows.append(new)
    return torch.tensor(np.stack(rows), dtype=logits.dtype, device=logits.device)
