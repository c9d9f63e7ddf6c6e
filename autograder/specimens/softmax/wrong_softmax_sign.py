# exercise: softmax
# WRONG: the smallest logit gets the most
def softmax(logits):
    return torch.softmax(-logits, dim=-1)
