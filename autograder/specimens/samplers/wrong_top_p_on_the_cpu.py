# exercise: top_p_probs
# WRONG: makes a tensor without `device=`: with logits on a GPU it lies on the CPU

def top_p_probs(logits, p):
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {p}")
    probs = softmax(at_least_float32(logits))
    if p == 1:
        return probs
    values, ids = probs.sort(dim=-1, descending=True)
    values = values.masked_fill(values.cumsum(dim=-1) - values >= p, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros(probs.shape, dtype=probs.dtype).scatter(-1, ids, values)
