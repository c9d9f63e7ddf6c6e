# exercise: log_softmax
# WRONG: subtracts the smallest finite logit
def log_softmax(logits):
    low = logits.masked_fill(torch.isneginf(logits), float("inf")).amin(dim=-1, keepdim=True)
    shifted = logits - low
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()
