# exercise: softmax
# WRONG: replaces -inf in the caller's tensor by the lowest number of its dtype
def softmax(logits):
    logits[logits == float("-inf")] = torch.finfo(logits.dtype).min
    return torch.softmax(logits, dim=-1)
