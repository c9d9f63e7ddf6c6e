# exercise: top_p_probs
# RIGHT: step by step; most of the wrong versions are edits of it

def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {p}")
    probs = softmax(logits)
    if p == 1:
        return probs
    sorted_probs, token_ids = probs.sort(dim=-1, descending=True)
    keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
    nucleus = sorted_probs * keep
    nucleus = nucleus / nucleus.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, nucleus)
