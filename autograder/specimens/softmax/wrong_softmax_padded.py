# exercise: softmax
# WRONG: an extra 0 in the denominator
def softmax(logits):
    e = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    return e / (1 + e.sum(dim=-1, keepdim=True))
