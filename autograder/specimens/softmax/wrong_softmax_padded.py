# exercise: softmax
# WRONG: an extra 0 in the denominator
# SAYS: A logit of 0 that is not in the row is counted in the sum.
def softmax(logits):
    e = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    return e / (1 + e.sum(dim=-1, keepdim=True))
