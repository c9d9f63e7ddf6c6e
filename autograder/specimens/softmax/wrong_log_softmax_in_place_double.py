# exercise: log_softmax
# WRONG: believes that .double() always copies
def log_softmax(logits):
    x = logits.double()
    x -= x.amax(dim=-1, keepdim=True)
    return (x - x.exp().sum(dim=-1, keepdim=True).log()).to(logits.dtype)
