# exercise: softmax
# WRONG: over the first dimension
def softmax(logits):
    return torch.softmax(logits, dim=0)
