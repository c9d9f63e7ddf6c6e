# exercise: top_p_probs
# WRONG: computes in the dtype of the logits: in bfloat16 a probability has two or three digits

def top_p_probs(logits, p):
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {p}")
    probs = softmax(logits)
    if p == 1:
        return probs
    values, ids = probs.sort(dim=-1, descending=True)
    values = values.masked_fill(values.cumsum(dim=-1) - values >= p, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, ids, values)
