# exercise: log_softmax
# WRONG: works in float32, where float64 loses its digits and its range
def log_softmax(logits):
    x = logits.float()
    x = x - x.amax(-1, keepdim=True)
    return (x - x.exp().sum(-1, keepdim=True).log()).to(logits.dtype)
