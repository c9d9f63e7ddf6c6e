# exercise: log_softmax
# WRONG: rows longer than 32,768 are cut there
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - shifted[..., :32_768].exp().sum(dim=-1, keepdim=True).log()
