# exercise: softmax
# WRONG: probabilities below 1e-30 become 0
def softmax(logits):
    e = (logits - logits.amax(-1, keepdim=True)).exp()
    p = e / e.sum(-1, keepdim=True)
    return torch.where(p < 1e-30, 0.0, p).to(logits.dtype)
