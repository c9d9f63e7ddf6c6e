# exercise: min_p_probs
# WRONG: maximum and sum over the batch dimension

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    kept = probs.masked_fill(probs < min_p * probs.amax(0, keepdim=True), 0.0)
    return kept / kept.sum(0, keepdim=True)
