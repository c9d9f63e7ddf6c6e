# exercise: softmax
# WRONG: believes that .float() always copies
# SAYS: The caller's tensor is written into: .float() of a float32 tensor is that tensor itself, no copy.
def softmax(logits):
    x = logits.float()
    x -= x.amax(dim=-1, keepdim=True)
    e = x.exp()
    return (e / e.sum(dim=-1, keepdim=True)).to(logits.dtype)
