# exercise: softmax
# WRONG: hides overflow: nan becomes 0
def softmax(logits):
    e = logits.exp()
    return (e / e.sum(dim=-1, keepdim=True)).nan_to_num(nan=0.0)
