# exercise: softmax
# RIGHT: works in float32 and casts back, as models often do
def softmax(logits):
    x = logits.float()
    e = (x - x.amax(-1, keepdim=True)).exp()
    return (e / e.sum(-1, keepdim=True)).to(logits.dtype)
