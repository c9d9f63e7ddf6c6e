# exercise: softmax
# WRONG: the first row's maximum for all rows
def softmax(logits):
    top = logits.reshape(-1, logits.shape[-1])[0].max()
    e = (logits - top).exp()
    return e / e.sum(dim=-1, keepdim=True)
