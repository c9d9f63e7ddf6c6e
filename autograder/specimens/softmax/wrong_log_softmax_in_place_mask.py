# exercise: log_softmax
# WRONG: writes into masked entries of the caller's tensor
def log_softmax(logits):
    masked = torch.isneginf(logits)
    logits.masked_fill_(masked, -60000.0)
    return torch.log_softmax(logits, dim=-1).masked_fill(masked, float("-inf"))
