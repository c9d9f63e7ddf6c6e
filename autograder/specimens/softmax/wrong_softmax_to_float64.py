# exercise: softmax
# WRONG: always float64
def softmax(logits):
    return torch.softmax(logits.double(), dim=-1)
