# exercise: min_p_probs
# WRONG: a token of logit -inf gets a little probability

def min_p_probs(logits, min_p):
    logits = logits.clamp_min(logits[logits > float("-inf")].min() - 1.0)
    probs = softmax(logits)
    kept = probs.masked_fill(probs < min_p * probs.amax(-1, keepdim=True), 0.0)
    return kept / kept.sum(-1, keepdim=True)
