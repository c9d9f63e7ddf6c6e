# exercise: softmax
# WRONG: subtracts the maximum from the caller's tensor
def softmax(logits):
    logits -= logits.amax(dim=-1, keepdim=True)
    e = logits.exp()
    return e / e.sum(dim=-1, keepdim=True)
