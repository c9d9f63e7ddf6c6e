# exercise: min_p_probs
# RIGHT: plain Python, token by token

import math

def min_p_probs(logits, min_p):
    if not 0 <= min_p <= 1:
        raise ValueError(min_p)
    result = []
    for row in logits.tolist():
        top = max(row)
        weights = [math.exp(x - top) for x in row]
        weights = [w if w >= min_p * 1.0 else 0.0 for w in weights]
        total = sum(weights)
        result.append([w / total for w in weights])
    return torch.tensor(result, dtype=logits.dtype)
