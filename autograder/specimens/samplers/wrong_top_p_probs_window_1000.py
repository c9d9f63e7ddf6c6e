# exercise: top_p_probs
# WRONG: looks at the best 1000 only
def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if not 0 < p <= 1: raise ValueError(f"p {p}")
    probs = softmax(logits)
    if p == 1: return probs
    s, i = probs.topk(min(1000, probs.shape[-1]), dim=-1)
    s = s.masked_fill(s.cumsum(-1) - s >= p, 0)
    return torch.zeros_like(probs).scatter(-1, i, s / s.sum(-1, keepdim=True))
