# exercise: softmax
# WRONG: probabilities in sorted order, not in the logits' order
def softmax(logits):
    return torch.softmax(logits, dim=-1).sort(dim=-1, descending=True).values
