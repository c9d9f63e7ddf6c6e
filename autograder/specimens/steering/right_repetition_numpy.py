# exercise: apply_repetition_penalty
# RIGHT: numpy and np.unique

import numpy as np

def apply_repetition_penalty(logits, generated_ids, penalty):
    if penalty <= 0:
        raise ValueError("a penalty is greater than 0")
    x = logits.detach().numpy().copy()
    for row, ids in zip(x, generated_ids.numpy()):
        u = np.unique(ids)
        row[u] = np.where(row[u] >= 0, row[u] / penalty, row[u] * penalty)
    return torch.from_numpy(x)
