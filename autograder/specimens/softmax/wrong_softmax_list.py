# exercise: softmax
# WRONG: a list comes back
def softmax(logits):
    return torch.softmax(logits, dim=-1).tolist()
