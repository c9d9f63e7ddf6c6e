# exercise: log_softmax
# RIGHT: in place, on a float64 copy of its own
def log_softmax(logits):
    x = logits.to(torch.float64, copy=True)
    x -= x.amax(dim=-1, keepdim=True)
    x -= x.exp().sum(dim=-1, keepdim=True).log()
    return x.to(logits.dtype)
