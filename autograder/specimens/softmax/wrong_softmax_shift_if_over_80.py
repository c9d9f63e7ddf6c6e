# exercise: softmax
# WRONG: shifts only above 80: float16 overflows at 12
def softmax(logits):
    x = logits
    if x.abs().max() > 80:
        x = x - x.amax(-1, keepdim=True)
    e = x.exp()
    return e / e.sum(-1, keepdim=True)
