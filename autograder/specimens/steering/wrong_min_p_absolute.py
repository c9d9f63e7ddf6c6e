# exercise: min_p_probs
# WRONG: min_p itself is the threshold, not min_p times the best probability

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    kept = probs.masked_fill((probs < min_p) & (probs < probs.amax(-1, keepdim=True)), 0.0)
    return kept / kept.sum(-1, keepdim=True)
