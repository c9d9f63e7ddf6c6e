# exercise: softmax
# WRONG: clamps the logits at 80 against overflow
def softmax(logits):
    e = logits.clamp(-80.0, 80.0).exp()
    return e / e.sum(dim=-1, keepdim=True)
