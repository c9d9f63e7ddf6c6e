# exercise: softmax
# WRONG: works in float32, where float64 loses its digits and its range
def softmax(logits):
    x = logits.float()
    e = (x - x.amax(-1, keepdim=True)).exp()
    return (e / e.sum(-1, keepdim=True)).to(logits.dtype)
