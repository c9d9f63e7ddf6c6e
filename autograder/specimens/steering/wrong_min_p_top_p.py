# exercise: min_p_probs
# WRONG: keeps the smallest set of mass 1 - min_p: that is top-p

def min_p_probs(logits, min_p):
    if min_p == 0:
        return softmax(logits)
    probs, ids = softmax(logits).sort(-1, descending=True)
    before = probs.cumsum(-1) - probs
    probs = probs.masked_fill((before >= 1 - min_p) & (before > 0), 0.0)
    probs = probs / probs.sum(-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, ids, probs)
