# exercise: log_softmax
# WRONG: shifts inside the sum and never adds the maximum back
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return logits - shifted.exp().sum(dim=-1, keepdim=True).log()
