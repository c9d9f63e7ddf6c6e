# exercise: top_p_probs
# WRONG: makes the running sum in the dtype of the logits: in bfloat16 it has 256 steps between 0.5 and 1

def top_p_probs(logits, p):
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {p}")
    probs = softmax(at_least_float32(logits))
    if p == 1:
        return probs
    values, ids = probs.sort(dim=-1, descending=True)
    before = values.to(logits.dtype).cumsum(dim=-1).to(values.dtype) - values
    values = values.masked_fill(before >= p, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, ids, values)
