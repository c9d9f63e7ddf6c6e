# exercise: draw
# RIGHT: numpy searchsorted in float64, scaled to the total

import numpy as np


def draw(probs, u):
    probs = at_least_float32(probs)
    tokens = []
    for row, x in zip(probs.numpy().astype(np.float64), u.numpy().reshape(-1)):
        sums = np.cumsum(row)
        tokens.append(int(np.searchsorted(sums / sums[-1], float(x), side="right")))
    return torch.tensor(tokens, dtype=torch.long, device=probs.device)[:, None]
