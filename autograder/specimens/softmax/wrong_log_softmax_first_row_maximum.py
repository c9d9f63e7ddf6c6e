# exercise: log_softmax
# WRONG: the first row's maximum for all rows
def log_softmax(logits):
    shifted = logits - logits.reshape(-1, logits.shape[-1])[0].max()
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()
