# exercise: softmax
# WRONG: more than five dimensions are not accepted
def softmax(logits):
    if logits.dim() > 5:
        raise ValueError("too many dimensions")
    e = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True)
