# exercise: min_p_probs
# WRONG: the threshold is taken from the best of the whole batch

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    kept = probs.masked_fill(probs < min_p * probs.max(), 0.0)
    return kept / kept.sum(-1, keepdim=True).clamp_min(1e-9)
