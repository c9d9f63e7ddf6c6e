# exercise: typical_probs
# WRONG: always works in float32: float64 logits lose their digits

def typical_probs(logits: Tensor, mass: float) -> Tensor:
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    logits = logits.float()
    probs = softmax(logits)
    if mass == 1:
        return probs  # a rounded running sum can reach 1 before the last token does
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)  # back to the order of the vocabulary
