# exercise: min_p_probs
# WRONG: the mask of row 0 is used for all rows

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    keep = (probs >= min_p * probs.amax(-1, keepdim=True))[0]
    kept = probs * keep
    return kept / kept.sum(-1, keepdim=True)
