# exercise: log_softmax
# WRONG: no maximum subtracted: overflow
def log_softmax(logits):
    return logits - logits.exp().sum(dim=-1, keepdim=True).log()
