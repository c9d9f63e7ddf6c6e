# exercise: top_p_probs
# WRONG: one nucleus over the whole batch

def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {p}")
    probs = softmax(logits)
    if p == 1:
        return probs
    sorted_probs, token_ids = probs.sort(dim=-1, descending=True)
    flat = probs.flatten() / len(probs)
    sorted_flat, ids = flat.sort(descending=True)
    kept = sorted_flat * (sorted_flat.cumsum(0) - sorted_flat < p)
    result = torch.zeros_like(flat).scatter(0, ids, kept).view_as(probs)
    return result / result.sum(dim=-1, keepdim=True).clamp(min=1e-12)
