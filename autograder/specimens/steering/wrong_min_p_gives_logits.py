# exercise: min_p_probs
# WRONG: filtered logits instead of probabilities

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    return logits.masked_fill(probs < min_p * probs.amax(-1, keepdim=True), float("-inf"))
