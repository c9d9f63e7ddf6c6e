# exercise: softmax
# WRONG: over dimension 1: right for two dimensions only
def softmax(logits):
    return torch.softmax(logits, dim=min(1, logits.dim() - 1))
