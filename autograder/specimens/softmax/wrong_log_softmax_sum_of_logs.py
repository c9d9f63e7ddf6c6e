# exercise: log_softmax
# WRONG: the sum of logarithms for the logarithm of the sum
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - shifted.exp().log().sum(dim=-1, keepdim=True)
