# exercise: softmax
# WRONG: masked entries get a small number
def softmax(logits):
    top = logits.amax(dim=-1, keepdim=True)
    e = (logits - top).clamp_min(-30.0).exp()
    return e / e.sum(dim=-1, keepdim=True)
