# exercise: softmax
# RIGHT: works in float64 and casts back
def softmax(logits):
    x = logits.double()
    e = torch.exp(x - x.max(dim=-1, keepdim=True).values)
    return (e / e.sum(dim=-1, keepdim=True)).to(logits.dtype)
