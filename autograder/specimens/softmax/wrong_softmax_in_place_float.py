# exercise: softmax
# WRONG: believes that .float() always copies
def softmax(logits):
    x = logits.float()
    x -= x.amax(dim=-1, keepdim=True)
    e = x.exp()
    return (e / e.sum(dim=-1, keepdim=True)).to(logits.dtype)
