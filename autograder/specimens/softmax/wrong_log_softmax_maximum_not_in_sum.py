# exercise: log_softmax
# WRONG: the sum is of unshifted exponentials
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - logits.exp().sum(dim=-1, keepdim=True).log()
