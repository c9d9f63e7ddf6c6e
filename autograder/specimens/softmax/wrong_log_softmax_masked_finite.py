# exercise: log_softmax
# WRONG: a masked entry becomes -1e9
def log_softmax(logits):
    return torch.log_softmax(logits.masked_fill(torch.isneginf(logits), -1e9 if logits.dtype != torch.float16 else -6e4), dim=-1)
