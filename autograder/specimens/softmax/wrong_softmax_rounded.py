# exercise: softmax
# WRONG: rounded to four digits
def softmax(logits):
    return torch.softmax(logits, dim=-1).mul(10000).round().div(10000)
