# exercise: min_p_probs
# WRONG: what is cut gets logit 0 instead of -inf

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    return softmax(logits.masked_fill(probs < min_p * probs.amax(-1, keepdim=True), 0.0))
