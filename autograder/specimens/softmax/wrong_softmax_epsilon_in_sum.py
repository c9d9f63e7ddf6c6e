# exercise: softmax
# WRONG: 1e-8 added to the sum: a sure thing is no longer sure
def softmax(logits):
    e = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    return e / (e.sum(dim=-1, keepdim=True) + 1e-8)
