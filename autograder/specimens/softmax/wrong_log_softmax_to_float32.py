# exercise: log_softmax
# WRONG: always float32
# SAYS: float32 comes back whatever came in. Keep the dtype.
def log_softmax(logits):
    return torch.log_softmax(logits.float(), dim=-1)
