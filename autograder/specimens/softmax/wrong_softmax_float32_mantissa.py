# exercise: softmax
# WRONG: subtracts a rounded maximum in bfloat16, losing the gaps
def softmax(logits):
    x = logits.bfloat16()
    return torch.softmax(x, dim=-1).to(logits.dtype)
