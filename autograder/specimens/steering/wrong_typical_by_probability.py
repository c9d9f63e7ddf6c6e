# exercise: typical_probs
# WRONG: ordered by probability: that is top-p

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = (-probs).argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)
