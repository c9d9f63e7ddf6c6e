# exercise: log_softmax
# WRONG: logarithms to base 2
# SAYS: The logarithm is to base 2. Use the natural one.
def log_softmax(logits):
    return torch.log_softmax(logits, dim=-1) / 0.6931471805599453
