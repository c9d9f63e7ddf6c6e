# exercise: min_p_probs
# WRONG: what is kept is not divided by its sum

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    return probs.masked_fill(probs < min_p * probs.amax(-1, keepdim=True), 0.0)
