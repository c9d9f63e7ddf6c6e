# exercise: top_p_probs
# RIGHT: sorts ascending and cuts the tail from below

def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if not 0 < p <= 1:
        raise ValueError(f"top_p {p}")
    probs = softmax(logits)
    if p == 1:
        return probs
    ordered, ids = probs.double().sort(dim=-1)
    # A token goes if what lies above it already has p: the mass of the tokens after it in ascending order.
    above = ordered.flip(-1).cumsum(-1).flip(-1) - ordered
    cut = torch.zeros_like(probs, dtype=torch.bool).scatter(-1, ids, above >= p)
    kept = probs.masked_fill(cut, 0)
    return kept / kept.sum(-1, keepdim=True)
