# exercise: min_p_probs
# WRONG: softmax a second time to renormalise

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    return softmax(probs.masked_fill(probs < min_p * probs.amax(-1, keepdim=True), float("-inf")))
