# exercise: min_p_probs
# WRONG: the share is taken of the average probability

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    kept = probs.masked_fill(probs < min_p * probs.mean(-1, keepdim=True), 0.0)
    return kept / kept.sum(-1, keepdim=True)
