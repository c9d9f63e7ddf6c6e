# exercise: softmax
# WRONG: -inf replaced by 0 before the exponential
def softmax(logits):
    x = torch.where(torch.isneginf(logits), 0.0, logits)
    e = (x - x.amax(dim=-1, keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True) * ~torch.isneginf(logits)
