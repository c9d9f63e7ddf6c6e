# exercise: softmax
# WRONG: a list comes back
# SAYS: A list comes back. Give a tensor.
def softmax(logits):
    return torch.softmax(logits, dim=-1).tolist()
