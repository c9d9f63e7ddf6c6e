# exercise: typical_probs
# RIGHT: plain Python, a row at a time

import math

def typical_probs(logits, mass):
    if mass <= 0 or mass > 1:
        raise ValueError(f"mass {mass}")
    rows = []
    for row in torch.softmax(logits.double(), -1).tolist():
        h = -sum(p * math.log(p) for p in row if p > 0)
        order = sorted(range(len(row)), key=lambda i: abs(-math.log(row[i]) - h) if row[i] > 0 else math.inf)
        total, keep = 0.0, set()
        for i in order:
            keep.add(i)
            total += row[i]
            if total >= mass and mass < 1:
                break
        rows.append([p / total if i in keep else 0.0 for i, p in enumerate(row)])
    return torch.tensor(rows, dtype=torch.float64)
