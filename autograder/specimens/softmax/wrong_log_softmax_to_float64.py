# exercise: log_softmax
# WRONG: always float64
# SAYS: float64 comes back whatever came in. Keep the dtype.
def log_softmax(logits):
    return torch.log_softmax(logits.double(), dim=-1)
