# exercise: log_softmax
# RIGHT: PyTorch's own
def log_softmax(logits):
    return torch.nn.functional.log_softmax(logits, dim=-1)
