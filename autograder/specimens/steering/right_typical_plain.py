# exercise: typical_probs
# RIGHT: step by step; most of the wrong versions are edits of it

def typical_probs(logits, mass):
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    probs = softmax(logits)
    if mass == 1:
        return probs
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)
