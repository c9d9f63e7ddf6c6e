# exercise: min_p_probs
# WRONG: the caller's logits are overwritten

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    logits[probs < min_p * probs.amax(-1, keepdim=True)] = float("-inf")
    return softmax(logits)
