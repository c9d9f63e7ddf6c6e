# exercise: log_softmax
# WRONG: half precision through the probabilities
def log_softmax(logits):
    if logits.dtype in (torch.float16, torch.bfloat16): return torch.softmax(logits, -1).log()
    return torch.log_softmax(logits, -1)
