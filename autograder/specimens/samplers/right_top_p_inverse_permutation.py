# exercise: top_p_probs
# RIGHT: gathers with the inverse permutation; roll makes the mass before a token

def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if not 0.0 < p <= 1.0:
        raise ValueError(f"expected 0 < p <= 1, got {p}")
    if p == 1.0:
        return torch.softmax(logits, -1)
    ids = logits.argsort(dim=-1, descending=True)
    probs = torch.softmax(logits, -1).gather(-1, ids)
    before = probs.cumsum(-1).roll(1, dims=-1)
    before[:, 0] = 0.0
    probs = torch.where(before < p, probs, torch.zeros_like(probs))
    probs /= probs.sum(-1, keepdim=True)
    return probs.gather(-1, ids.argsort(dim=-1))
