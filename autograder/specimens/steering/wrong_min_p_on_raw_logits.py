# exercise: min_p_probs
# WRONG: the share is taken of the highest logit

def min_p_probs(logits, min_p):
    keep = logits >= min_p * logits.amax(-1, keepdim=True)
    return softmax(logits.masked_fill(~keep, float("-inf")))
