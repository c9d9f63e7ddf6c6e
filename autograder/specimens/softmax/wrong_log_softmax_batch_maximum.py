# exercise: log_softmax
# WRONG: one maximum for all rows of a batch entry
def log_softmax(logits):
    dims = (-2, -1) if logits.dim() > 1 else (-1,)
    shifted = logits - logits.amax(dim=dims, keepdim=True)
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()
