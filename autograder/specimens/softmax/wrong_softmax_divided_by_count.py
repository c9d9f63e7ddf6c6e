# exercise: softmax
# WRONG: divides by the mean instead of the sum
def softmax(logits):
    e = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    return e / e.mean(dim=-1, keepdim=True)
