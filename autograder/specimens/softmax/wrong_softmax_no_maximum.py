# exercise: softmax
# WRONG: no maximum subtracted: overflow at 1000
def softmax(logits):
    e = logits.exp()
    return e / e.sum(dim=-1, keepdim=True)
