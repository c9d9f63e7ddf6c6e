# exercise: softmax
# WRONG: knows one, two and three dimensions
# SAYS: Four dimensions and more are not accepted. Any number may stand before the last.
def softmax(logits):
    if logits.dim() > 3:
        raise ValueError("too many dimensions")
    return torch.softmax(logits, dim=-1)
