# exercise: softmax
# WRONG: one maximum for the whole tensor, in float64
def softmax(logits):
    x = logits.double()
    e = (x - x.max()).exp()
    return (e / e.sum(dim=-1, keepdim=True)).to(logits.dtype)
