# exercise: log_softmax
# WRONG: wants a matrix
# SAYS: Only a matrix is accepted. Any number of dimensions may stand before the last.
def log_softmax(logits):
    b, v = logits.shape
    return torch.log_softmax(logits, dim=1)
