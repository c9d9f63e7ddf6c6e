# exercise: softmax
# WRONG: subtracts the largest absolute value
def softmax(logits):
    top = logits.nan_to_num(neginf=0.0).abs().amax(dim=-1, keepdim=True)
    e = (logits - top).exp()
    return e / e.sum(dim=-1, keepdim=True)
