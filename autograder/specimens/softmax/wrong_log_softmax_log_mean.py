# exercise: log_softmax
# WRONG: the logarithm of the mean exponential
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - shifted.exp().mean(dim=-1, keepdim=True).log()
