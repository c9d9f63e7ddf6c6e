# exercise: softmax
# WRONG: always float64
# SAYS: float64 comes back whatever came in. Keep the dtype.
def softmax(logits):
    return torch.softmax(logits.double(), dim=-1)
