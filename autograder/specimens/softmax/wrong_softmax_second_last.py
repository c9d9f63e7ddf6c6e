# exercise: softmax
# WRONG: over the last but one dimension where there is one
def softmax(logits):
    return torch.softmax(logits, dim=-2 if logits.dim() > 2 else -1)
