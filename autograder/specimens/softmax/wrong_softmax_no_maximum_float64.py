# exercise: softmax
# WRONG: float64 instead of a maximum: overflows at 710 all the same
def softmax(logits):
    e = logits.double().exp()
    return (e / e.sum(dim=-1, keepdim=True)).to(logits.dtype)
