# exercise: typical_probs
# WRONG: 0 x ln 0 makes the entropy nan

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - (probs * surprisal).sum(-1).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)
