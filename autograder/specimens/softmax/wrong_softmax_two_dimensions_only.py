# exercise: softmax
# WRONG: wants a matrix
# SAYS: Only a matrix is accepted. Any number of dimensions may stand before the last.
def softmax(logits):
    b, v = logits.shape
    e = (logits - logits.max(dim=1, keepdim=True).values).exp()
    return e / e.sum(dim=1, keepdim=True)
