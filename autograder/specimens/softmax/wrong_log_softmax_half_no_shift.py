# exercise: log_softmax
# WRONG: no shift in half precision
def log_softmax(logits):
    x = logits
    if logits.dtype in (torch.float32, torch.float64): x = x - x.amax(-1, keepdim=True)
    return x - x.exp().sum(-1, keepdim=True).log()
