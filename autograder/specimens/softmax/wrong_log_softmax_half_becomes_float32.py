# exercise: log_softmax
# WRONG: half precision comes back as float32
def log_softmax(logits):
    return torch.log_softmax(logits if logits.dtype == torch.float64 else logits.float(), dim=-1)
