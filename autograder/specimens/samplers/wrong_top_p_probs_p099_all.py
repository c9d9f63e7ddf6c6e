# exercise: top_p_probs
# WRONG: p of 0.99 and more keeps everything
def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if not 0 < p <= 1: raise ValueError(f"p {p}")
    probs = softmax(logits)
    if p >= 0.99: return probs
    s, i = probs.sort(-1, descending=True)
    s = s.masked_fill(s.cumsum(-1) - s >= p, 0)
    return torch.zeros_like(probs).scatter(-1, i, s / s.sum(-1, keepdim=True))
