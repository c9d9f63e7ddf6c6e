# exercise: top_p_probs
# RIGHT: a Python loop that adds tokens until the mass reaches p

def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if not (0 < p <= 1):
        raise ValueError(f"{p} is not in (0, 1]")
    rows = []
    for row in torch.softmax(logits.double(), dim=-1).tolist():
        if p == 1:
            rows.append(row)
            continue
        mass, kept = 0.0, set()
        for i in sorted(range(len(row)), key=row.__getitem__, reverse=True):
            kept.add(i)
            mass += row[i]
            if mass >= p:
                break
        rows.append([row[i] / mass if i in kept else 0.0 for i in range(len(row))])
    return torch.tensor(rows, dtype=logits.dtype, device=logits.device)
