# exercise: min_p_probs
# WRONG: plain softmax

def min_p_probs(logits, min_p):
    return softmax(logits)
