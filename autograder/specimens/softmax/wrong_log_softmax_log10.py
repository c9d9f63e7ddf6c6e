# exercise: log_softmax
# WRONG: the sum's logarithm to base 10
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log10()
