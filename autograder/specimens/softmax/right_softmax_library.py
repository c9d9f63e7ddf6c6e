# exercise: softmax
# RIGHT: PyTorch's own
def softmax(logits):
    return torch.softmax(logits, dim=-1)
