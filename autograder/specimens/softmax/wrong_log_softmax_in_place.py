# exercise: log_softmax
# WRONG: changes the caller's tensor
def log_softmax(logits):
    logits -= logits.amax(dim=-1, keepdim=True)
    return logits - logits.exp().sum(dim=-1, keepdim=True).log()
