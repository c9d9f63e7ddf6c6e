# exercise: softmax
# WRONG: powers of ten
# SAYS: The base is 10. It is e: use exp.
def softmax(logits):
    e = 10.0 ** (logits - logits.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True)
