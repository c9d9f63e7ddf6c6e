# exercise: log_softmax
# WRONG: over dimension 1 where there is one
def log_softmax(logits):
    return torch.log_softmax(logits, dim=min(1, logits.dim() - 1))
