# exercise: min_p_probs
# WRONG: the first row's threshold is used for all rows

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    kept = probs.masked_fill(probs < min_p * probs[0].max(), 0.0)
    return kept / kept.sum(-1, keepdim=True)
