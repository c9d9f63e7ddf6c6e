# exercise: min_p_probs
# WRONG: within min_p of the best, instead of a share of it

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    kept = probs.masked_fill(probs < probs.amax(-1, keepdim=True) - (1 - min_p), 0.0)
    return kept / kept.sum(-1, keepdim=True)
