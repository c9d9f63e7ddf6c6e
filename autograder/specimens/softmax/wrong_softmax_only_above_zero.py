# exercise: softmax
# WRONG: subtracts the maximum only where it is large and positive
def softmax(logits):
    top = logits.amax(dim=-1, keepdim=True)
    e = (logits - torch.where(top > 80, top, 0.0)).exp()
    return e / e.sum(dim=-1, keepdim=True)
