# exercise: log_softmax
# WRONG: softmax of softmax, then the logarithm
def log_softmax(logits):
    return torch.log_softmax(torch.softmax(logits, dim=-1), dim=-1)
