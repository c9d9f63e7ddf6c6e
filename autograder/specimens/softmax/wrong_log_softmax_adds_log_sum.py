# exercise: log_softmax
# WRONG: adds the logarithm of the sum
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted + shifted.exp().sum(dim=-1, keepdim=True).log()
