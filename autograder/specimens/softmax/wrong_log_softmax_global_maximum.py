# exercise: log_softmax
# WRONG: one maximum for the whole tensor
def log_softmax(logits):
    shifted = logits - logits.max()
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()
