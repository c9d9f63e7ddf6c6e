# exercise: log_softmax
# WRONG: replaces -inf in the caller's tensor by the lowest number of its dtype, and puts it back in the answer only
def log_softmax(logits):
    masked = torch.isneginf(logits)
    logits.masked_fill_(masked, torch.finfo(logits.dtype).min)
    return torch.log_softmax(logits, dim=-1).masked_fill(masked, float("-inf"))
