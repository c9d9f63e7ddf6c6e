# exercise: softmax
# RIGHT: works in float32 where the logits are of half precision, as models often do
def softmax(logits):
    x = logits.float() if logits.dtype.itemsize < 4 else logits
    e = (x - x.amax(-1, keepdim=True)).exp()
    return (e / e.sum(-1, keepdim=True)).to(logits.dtype)
