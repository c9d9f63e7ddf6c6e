# exercise: softmax
# WRONG: knows one, two and three dimensions
def softmax(logits):
    if logits.dim() > 3:
        raise ValueError("too many dimensions")
    return torch.softmax(logits, dim=-1)
