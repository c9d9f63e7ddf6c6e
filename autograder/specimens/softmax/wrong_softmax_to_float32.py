# exercise: softmax
# WRONG: always float32
def softmax(logits):
    return torch.softmax(logits.float(), dim=-1)
