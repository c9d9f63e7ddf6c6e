# exercise: log_softmax
# WRONG: the gaps to the maximum, not normalised
def log_softmax(logits):
    return logits - logits.amax(dim=-1, keepdim=True)
