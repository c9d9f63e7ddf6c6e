# exercise: log_softmax
# WRONG: the shift is not put back: x - log sum exp(x - m)
def log_softmax(logits):
    m = logits.amax(-1, keepdim=True)
    z = (logits - m).exp().sum(-1, keepdim=True).log()
    return torch.where(m.abs() > 80, logits - m - z, logits - (logits.exp().sum(-1, keepdim=True)).log())
