# exercise: min_p_probs
# WRONG: math.log(0): min_p = 0 raises

import math

def min_p_probs(logits, min_p):
    best = logits.amax(-1, keepdim=True)
    return softmax(logits.masked_fill(logits < best + math.log(min_p), float("-inf")))
