# exercise: softmax
# WRONG: subtracts the minimum
def softmax(logits):
    e = (logits - logits.amin(dim=-1, keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True)
