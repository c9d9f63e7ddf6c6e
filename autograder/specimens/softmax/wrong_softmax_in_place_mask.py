# exercise: softmax
# WRONG: replaces -inf in the caller's tensor
def softmax(logits):
    logits[logits == float("-inf")] = -60000.0
    return torch.softmax(logits, dim=-1)
