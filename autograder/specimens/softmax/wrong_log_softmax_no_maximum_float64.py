# exercise: log_softmax
# WRONG: float64 instead of a maximum
def log_softmax(logits):
    x = logits.double()
    return (x - x.exp().sum(dim=-1, keepdim=True).log()).to(logits.dtype)
