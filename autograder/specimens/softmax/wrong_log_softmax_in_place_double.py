# exercise: log_softmax
# WRONG: believes that .double() always copies
# SAYS: The caller's tensor is written into: .double() of a float64 tensor is that tensor itself, no copy.
def log_softmax(logits):
    x = logits.double()
    x -= x.amax(dim=-1, keepdim=True)
    return (x - x.exp().sum(dim=-1, keepdim=True).log()).to(logits.dtype)
