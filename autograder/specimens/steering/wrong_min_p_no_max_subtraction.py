# exercise: min_p_probs
# WRONG: exp without subtracting the maximum

def min_p_probs(logits, min_p):
    weights = logits.exp()
    kept = weights.masked_fill(weights < min_p * weights.amax(-1, keepdim=True), 0.0)
    return kept / kept.sum(-1, keepdim=True)
